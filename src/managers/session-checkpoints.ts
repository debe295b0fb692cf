/** The checkpoints of a session: the newest, those before it, what changed between two, what is behind an item. */

import { type CheckpointDiff, diffCheckpoints } from '../compaction/diff.ts'
import { IllegalState, NotFound } from '../errors.ts'
import type { Checkpoint } from '../events/checkpoint.ts'
import { windowOf } from '../log/windows.ts'
import type { Message } from '../views/message.ts'
import type { SessionAccess } from './session-access.ts'

export interface SessionCheckpoints {
  newest(sessionId: string): Promise<Checkpoint | undefined>
  /** Every checkpoint of the window, newest first. */
  history(sessionId: string): Promise<Checkpoint[]>
  diff(sessionId: string, first: number, second: number): Promise<CheckpointDiff>
  /** The messages behind an item of the checkpoint. */
  expand(sessionId: string, itemId: string): Promise<Message[]>
}

export function sessionCheckpoints(access: SessionAccess): SessionCheckpoints {
  async function newest(sessionId: string): Promise<Checkpoint | undefined> {
    const head = await access.head(sessionId)
    return (await access.eventAt(head, head.checkpoint?.version, 'checkpoint.taken'))?.checkpoint
  }

  async function history(sessionId: string): Promise<Checkpoint[]> {
    const head = await access.head(sessionId)
    const found: Checkpoint[] = []
    let version = head.checkpoint?.version
    while (version !== undefined) {
      const event = await access.eventAt(head, version, 'checkpoint.taken')
      if (!event) break
      found.push(event.checkpoint)
      version = event.previous
    }
    return found
  }

  return {
    newest,
    history,
    async diff(sessionId, first, second) {
      const known = await history(sessionId)
      const numbered = (number: number) => {
        const found = known.find(checkpoint => checkpoint.number === number)
        if (!found) throw new IllegalState(`Session ${sessionId} has no checkpoint ${number}; it has ${known.length}.`)
        return found
      }
      return diffCheckpoints(numbered(first), numbered(second))
    },
    async expand(sessionId, itemId) {
      const head = await access.head(sessionId)
      const item = (await newest(sessionId))?.items.find(one => one.id === itemId)
      if (!item) throw new NotFound('message', itemId, 'The checkpoint has no such item.')
      const versions = [...new Set([...item.sources, ...(item.resolved?.sources ?? [])])].sort((a, b) => a - b)
      return access.engine.store.messages(
        { ...windowOf(head), start: Number.MAX_SAFE_INTEGER, kept: versions },
        { limit: versions.length },
      )
    },
  }
}
