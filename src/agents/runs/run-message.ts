/** Stores the message of a run before anything else happens. */
import { recordedMessage } from '../../conversation/access/prepare-message.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { addToSession } from '../../log/commands/message.ts'
import { clearMessages } from '../../log/commands/session.ts'
import { given } from '../../log/engine.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { RunOptions } from './run-options.ts'
import type { RunServices } from './run-services.ts'

interface StoredMessage {
  /** Absent when the run has no new message. */
  message: Message | undefined
  /** An earlier call with the same key stored it. */
  isRepeated: boolean
}

export async function storeRunMessage(
  { engine, scope, scribe, settings }: RunServices,
  { id, conversationId }: SessionHead,
  { message, write, once, fresh }: RunOptions,
): Promise<StoredMessage> {
  if (message === undefined) return { message: undefined, isRepeated: false }
  const prepared = await scribe.prepare(typeof message === 'string' ? { role: 'user', content: message } : message)
  const decide: Decision = (heads, now) => [
    ...((fresh ?? settings.singleShot) ? clearMessages(id)(heads, now) : []),
    ...addToSession(id, prepared)(heads, now),
  ]
  // Resumed work keeps its first wording, so the text is not part of what must be the same.
  const idempotency =
    once === undefined
      ? { asked: ['run', id, message, ...given(fresh)], options: write }
      : { asked: ['run', id], options: { ...write, idempotencyKey: once } }
  const place = { conversation: { id: conversationId }, session: { id } }
  const appended = await engine.execute(scope, { ...place, decide, ...idempotency })
  return { message: recordedMessage(appended), isRepeated: appended.replayed }
}
