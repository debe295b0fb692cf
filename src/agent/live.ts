/**
 * What runs say while they say it: for whoever looks on, in this process. Nothing of it is stored; what counts stands in
 * the log when an answer is whole.
 */
import type { QuestionKind } from '../events/question.ts'
import type { RunOutcome } from '../events/run.ts'
import type { ModelPart } from '../models/model.ts'

export type LivePart =
  | { type: 'run-start'; model: string }
  | ModelPart
  | { type: 'tool-start'; callId: string; name: string; input: unknown }
  | { type: 'tool-end'; callId: string; name: string; text: string; isError: boolean }
  | { type: 'question'; questionId: string; kind: QuestionKind; text: string; choices?: readonly string[] }
  | { type: 'run-end'; outcome: RunOutcome; reason?: string }

export interface LiveUpdate {
  project: string
  conversationId: string
  sessionId: string
  runId: string
  agent: string
  part: LivePart
}

export interface LiveFilter {
  project: string
  conversationId?: string
  sessionId?: string
  signal?: AbortSignal
}

export interface LiveChannel {
  publish(update: LiveUpdate): void
  /** From now on. Words that a slow reader has not taken yet are put together, so that it is never far behind. */
  listen(filter: LiveFilter): AsyncIterableIterator<LiveUpdate>
  close(): void
}

export function liveChannel(): LiveChannel {
  const listeners = new Set<{ take(update: LiveUpdate): void; end(): void }>()
  let isClosed = false

  function listen({ project, conversationId, sessionId, signal }: LiveFilter): AsyncIterableIterator<LiveUpdate> {
    const queue: LiveUpdate[] = []
    let wake: (() => void) | undefined
    let isOver = isClosed || signal?.aborted === true
    const listener = {
      take(update: LiveUpdate) {
        if (update.project !== project) return
        if (conversationId !== undefined && update.conversationId !== conversationId) return
        if (sessionId !== undefined && update.sessionId !== sessionId) return
        const joined = queue.length > 0 ? joinedWith(queue.at(-1)!, update) : undefined
        if (joined) queue[queue.length - 1] = joined
        else queue.push(update)
        wake?.()
      },
      end() {
        isOver = true
        listeners.delete(listener)
        wake?.()
      },
    }
    if (!isOver) listeners.add(listener)
    signal?.addEventListener('abort', listener.end, { once: true })
    return {
      async next() {
        for (;;) {
          const update = queue.shift()
          if (update) return { done: false, value: update }
          if (isOver) return { done: true, value: undefined }
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
      },
      async return() {
        listener.end()
        signal?.removeEventListener('abort', listener.end)
        queue.length = 0
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  return {
    publish(update) {
      for (const { take } of listeners) take(update)
    },
    listen,
    close() {
      isClosed = true
      for (const { end } of [...listeners]) end()
    },
  }
}

/** Two deltas of the same block in a row are one. */
function joinedWith(before: LiveUpdate, { runId, part }: LiveUpdate): LiveUpdate | undefined {
  const last = before.part
  if (before.runId !== runId || last.type !== part.type) return undefined
  if (last.type !== 'text-delta' && last.type !== 'reasoning-delta' && last.type !== 'tool-call-delta') return undefined
  const more = part as typeof last
  return last.id === more.id ? { ...before, part: { ...last, text: last.text + more.text } } : undefined
}
