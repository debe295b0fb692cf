/** Describes the savings of a compaction in one line. */
import type { CheckpointTaken } from 'colloquy/client'
import { counted, short } from '../format.ts'

/** 183k → 21k tokens · 240 → 12 messages */
export function savings({ tokensBefore, tokensAfter, messages, kept }: CheckpointTaken): string {
  const tokens = `${short(tokensBefore)} → ${short(tokensAfter)} tokens`
  return kept === undefined
    ? `${tokens} · ${counted(messages, 'message')} summarised`
    : `${tokens} · ${short(messages + kept)} → ${counted(kept, 'message')}`
}
