/** Finds the message that a run without a message of its own answers. */
import type { SessionAccess } from '../../conversation/access/session-access.ts'
import { IllegalState } from '../../errors.ts'
import { resetSession } from '../../log/commands/session.ts'
import type { Engine } from '../../log/engine.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { windowOf } from '../../log/windows.ts'
import { newestMessageFor } from './run-input.ts'

/** Returns the requested message, the one whose run was cut off, or the newest unanswered one. */
export async function findTrigger(
  { store }: Engine,
  head: SessionHead,
  requested: { messageId: string } | undefined,
): Promise<Message> {
  if (requested) return (await store.message(head.project, requested.messageId))!
  const window = windowOf(head)
  if (head.run && head.run.outcome !== 'done') {
    const only = { ...window, start: Number.MAX_SAFE_INTEGER, kept: [head.run.trigger] }
    const [interrupted] = await store.messages(only, { limit: 1 })
    if (interrupted) return interrupted
  }
  const start = Math.max(head.windowStart, head.acknowledged ?? 0)
  const unread = await store.messages({ ...window, start, kept: [] }, { limit: 200 })
  const message = newestMessageFor(head, unread)
  if (message) return message
  throw new IllegalState(
    `No message in session ${head.id} waits for an answer of ${head.agentName}. Nothing was run; give a message.`,
    { sessionId: head.id },
  )
}

/** Clears the window so that only the message itself is sent. A resumed run keeps its window. */
export async function keepOnly(access: SessionAccess, head: SessionHead, { version }: Message): Promise<SessionHead> {
  if (head.run?.trigger === version) return head
  await access.execute(head, resetSession(head.id, version))
  return access.head(head.id)
}
