/**
 * The newest instructions of people, by their readers. The head lists them, so that a request finds the order of a
 * long turn without reading the turn.
 */
import { type Audience, audienceKey } from '../events/audience.ts'
import type { MessageAdded } from '../events/message.ts'
import type { Part } from '../events/part.ts'

export interface InstructionList {
  audience: Audience
  /** Versions of the newest ones, oldest first. */
  versions: readonly number[]
}

/** Several, because a person may add something in the middle of a turn. */
const maxVersions = 5
/** Heads stay small, however many sessions have an audience of their own. */
const maxAudiences = 50

interface InstructionMessage {
  role: string
  author: string
  parts: readonly Part[]
  internal?: boolean | undefined
  agentType?: string | undefined
  resolves?: unknown
}

/** Whether a person says something: no result of a tool, no harness in the user's place, no content of a reference. */
export function isInstruction({ role, parts, internal, agentType, resolves }: InstructionMessage): boolean {
  if (role !== 'user' || internal || agentType !== undefined || resolves !== undefined) return false
  if (parts.some(part => part.type === 'tool-result')) return false
  return parts.some(part => (part.type === 'text' ? part.text.trim() !== '' : part.type === 'file'))
}

/** Returns the lists with the message, or the same object where it is no instruction. */
export function instructionsAfter(
  lists: readonly InstructionList[] | undefined,
  message: MessageAdded,
  version: number,
): readonly InstructionList[] | undefined {
  if (!isInstruction(message)) return lists
  const { audience } = message
  const key = audienceKey(audience)
  const others = (lists ?? []).filter(list => audienceKey(list.audience) !== key)
  const versions = (lists?.find(list => audienceKey(list.audience) === key)?.versions ?? []).filter(
    earlier => earlier < version,
  )
  return [...others.slice(-(maxAudiences - 1)), { audience, versions: [...versions, version].slice(-maxVersions) }]
}
