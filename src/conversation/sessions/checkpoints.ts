/** The checkpoints of a session: the newest, those before it, what changed between two, what is behind an item. */

import { NotFound } from '../../errors.ts'
import type { Checkpoint, CheckpointItem } from '../../log/events/checkpoint.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { windowOf } from '../../log/windows.ts'
import { type CheckpointDiff, diffCheckpoints } from '../../request/compaction/diff.ts'
import type { SessionAccess } from '../access/session-access.ts'

/** An item as it stood in the newest checkpoint that has it. */
export interface FoundItem {
  item: CheckpointItem
  /** Number of that checkpoint. */
  checkpoint: number
}

export interface SessionCheckpoints {
  newest(sessionId: string): Promise<Checkpoint | undefined>
  /** Every checkpoint of the window, newest first. */
  history(sessionId: string): Promise<Checkpoint[]>
  diff(sessionId: string, first: number, second: number): Promise<CheckpointDiff>
  /** @throws {NotFound} when no checkpoint of the window has it */
  item(sessionId: string, itemId: string): Promise<FoundItem>
  /** The messages behind an item of any of the checkpoints. */
  expand(sessionId: string, itemId: string): Promise<Message[]>
}

export function sessionCheckpoints(access: SessionAccess): SessionCheckpoints {
  /** Newest first, each read when it is asked for. */
  async function* walk(head: SessionHead): AsyncGenerator<Checkpoint> {
    let version = head.checkpoint?.version
    while (version !== undefined) {
      const event = await access.eventAt(head, version, 'checkpoint.taken')
      if (!event) return
      yield event.checkpoint
      version = event.previous
    }
  }

  async function find(head: SessionHead, itemId: string): Promise<FoundItem> {
    for await (const { items, number } of walk(head)) {
      const item = items.find(one => one.id === itemId)
      if (item) return { item, checkpoint: number }
    }
    throw new NotFound('item', itemId, `No checkpoint of session ${head.id} has it.`)
  }

  return {
    async newest(sessionId) {
      const head = await access.head(sessionId)
      return (await access.eventAt(head, head.checkpoint?.version, 'checkpoint.taken'))?.checkpoint
    },
    async history(sessionId) {
      const found: Checkpoint[] = []
      for await (const checkpoint of walk(await access.head(sessionId))) found.push(checkpoint)
      return found
    },
    async diff(sessionId, first, second) {
      const wanted = new Map<number, Checkpoint>()
      const head = await access.head(sessionId)
      for await (const checkpoint of walk(head)) {
        if (checkpoint.number === first || checkpoint.number === second) wanted.set(checkpoint.number, checkpoint)
        if (wanted.has(first) && wanted.has(second)) break
      }
      const numbered = (number: number) => {
        const found = wanted.get(number)
        const hint = `Session ${sessionId} has ${head.checkpoint ? `${head.checkpoint.number} of them` : 'none yet'}.`
        if (!found) throw new NotFound('checkpoint', String(number), hint)
        return found
      }
      return diffCheckpoints(numbered(first), numbered(second))
    },
    async item(sessionId, itemId) {
      return find(await access.head(sessionId), itemId)
    },
    async expand(sessionId, itemId) {
      const head = await access.head(sessionId)
      const { item } = await find(head, itemId)
      const versions = [...new Set([...item.sources, ...(item.resolved?.sources ?? [])])].sort((a, b) => a - b)
      return access.engine.store.messages(
        { ...windowOf(head), start: Number.MAX_SAFE_INTEGER, kept: versions },
        { limit: versions.length },
      )
    },
  }
}
