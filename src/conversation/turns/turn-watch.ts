/** Waits until a turn is over: by its last completion, by a person, or by its time-out, which is then recorded. */
import type { TurnOutcome } from '../../log/events/turn.ts'
import { timerMs } from '../../timers.ts'
import type { ConversationAccess } from '../access/conversation-access.ts'
import type { Turns } from './turns.ts'

/** At least this long between two looks at a time-out: the clock that counts is the engine's. */
const soonestMs = 20

type TurnWatch = (
  conversationId: string,
  turnId: string,
  signal: AbortSignal,
) => Promise<TurnOutcome | 'undone' | undefined>

/** Resolves with how it ended, or with undefined when the signal ended the wait. */
export function turnWatch(access: ConversationAccess, turns: Turns): TurnWatch {
  const { engine, scope } = access

  return async (conversationId, turnId, signal) => {
    const stop = new AbortController()
    // From before the first look, so that nothing falls in between.
    const events = engine.store.subscribe({
      project: scope.project,
      signal: AbortSignal.any([signal, stop.signal]),
    })
    let timer: NodeJS.Timeout | undefined
    try {
      for (;;) {
        const state = (await access.head(conversationId)).info.turns
        if (state?.open?.id !== turnId) return state?.recent.find(one => one.id === turnId)?.outcome ?? 'completed'
        timer ??= armed(conversationId, state.open.dueAt)
        for (;;) {
          const { done, value } = await events.next()
          if (done) return undefined
          if (value.conversationId !== conversationId) continue
          if (value.event.type === 'turn.resolved' || value.event.type === 'turn.undone') break
        }
      }
    } finally {
      clearTimeout(timer)
      stop.abort()
      await events.return?.()
    }
  }

  function armed(conversationId: string, dueAt: string | undefined): NodeJS.Timeout | undefined {
    if (dueAt === undefined) return undefined
    const waitMs = Math.max(soonestMs, Date.parse(dueAt) - engine.clock())
    // The maintenance sweep retries a refused time-out.
    return setTimeout(() => turns.timeOut(conversationId, undefined).catch(() => undefined), timerMs(waitMs)).unref()
  }
}
