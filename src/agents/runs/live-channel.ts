/** Streams the output of runs of this process. It is not stored: the log has completed answers. */
import type { QuestionKind } from '../../log/events/question.ts'
import type { RunOutcome } from '../../log/events/run.ts'
import type { ModelPart } from '../../models/model.ts'

export type LivePart =
  | { type: 'run-start'; model: string }
  | ModelPart
  | { type: 'tool-start'; callId: string; name: string; input: unknown }
  | { type: 'tool-end'; callId: string; name: string; text: string; isError: boolean }
  | { type: 'question'; questionId: string; kind: QuestionKind; text: string; choices?: readonly string[] }
  | { type: 'run-end'; outcome: RunOutcome; reason?: string }
  /** The reader was too slow, and its backlog was dropped. The log will have the answer. */
  | { type: 'missed' }

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
  /** Starts with the output so far of answers in progress. */
  soFar?: boolean
  signal?: AbortSignal
}

export interface LiveChannel {
  publish(update: LiveUpdate): void
  /**
   * Unread deltas of a slow reader are joined, so that it catches up fast. A reader that stops reading loses its backlog
   * at the limit.
   */
  listen(filter: LiveFilter): AsyncIterableIterator<LiveUpdate>
  /** Number of readers, and of characters waiting for them. */
  queue(): { readers: number; characters: number }
  close(): void
}

/** Maximum backlog of one reader, in characters and in updates. */
const maxCharacters = 200_000
const maxUpdates = 2000

export function liveChannel(): LiveChannel {
  const listeners = new Set<{ take(update: LiveUpdate): void; waiting(): number; end(): void }>()
  /** Output of each run since its last call of a model. */
  const unfinished = new Map<string, LiveUpdate[]>()
  let isClosed = false

  function remember(update: LiveUpdate): void {
    const { runId, part } = update
    if (part.type === 'run-end') unfinished.delete(runId)
    // A restarted answer counts from its restart; a completed one is in the log.
    else if (part.type === 'run-start' || part.type === 'start') unfinished.set(runId, [update])
    else if (part.type === 'finish' || part.type === 'failure') unfinished.set(runId, [])
    else {
      const updates = unfinished.get(runId)
      if (updates) add(updates, update)
    }
  }

  function listen(filter: LiveFilter): AsyncIterableIterator<LiveUpdate> {
    const { project, conversationId, sessionId, soFar = false, signal } = filter
    const queue: LiveUpdate[] = []
    let characters = 0
    let wake: (() => void) | undefined
    let isOver = isClosed || signal?.aborted === true
    const listener = {
      take(update: LiveUpdate) {
        if (update.project !== project) return
        if (conversationId !== undefined && update.conversationId !== conversationId) return
        if (sessionId !== undefined && update.sessionId !== sessionId) return
        characters += sizeOf(update)
        add(queue, update)
        if (characters > maxCharacters || queue.length > maxUpdates) {
          const missed: LiveUpdate = { ...update, part: { type: 'missed' } }
          queue.splice(0, queue.length, missed)
          characters = sizeOf(missed)
        }
        wake?.()
      },
      waiting: () => characters,
      end() {
        isOver = true
        listeners.delete(listener)
        wake?.()
      },
    }
    if (!isOver) {
      listeners.add(listener)
      if (soFar) for (const update of [...unfinished.values()].flat()) listener.take(update)
    }
    signal?.addEventListener('abort', listener.end, { once: true })
    return {
      async next() {
        for (;;) {
          const update = queue.shift()
          if (update) {
            characters -= sizeOf(update)
            return { done: false, value: update }
          }
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
      remember(update)
      for (const { take } of listeners) take(update)
    },
    listen,
    queue() {
      let characters = 0
      for (const { waiting } of listeners) characters += waiting()
      return { readers: listeners.size, characters }
    },
    close() {
      isClosed = true
      for (const { end } of [...listeners]) end()
    },
  }
}

/** Joins an update with the last one of the same run where possible. */
function add(queue: LiveUpdate[], update: LiveUpdate): void {
  const index = queue.findLastIndex(({ runId }) => runId === update.runId)
  const joined = index < 0 ? undefined : joinDeltas(queue[index]!, update)
  if (joined) queue[index] = joined
  else queue.push(update)
}

function sizeOf({ part }: LiveUpdate): number {
  return 'text' in part ? part.text.length : 100
}

/** Joins two consecutive deltas of the same block. */
function joinDeltas(before: LiveUpdate, { runId, part }: LiveUpdate): LiveUpdate | undefined {
  const last = before.part
  if (before.runId !== runId || last.type !== part.type) return undefined
  if (last.type !== 'text-delta' && last.type !== 'reasoning-delta' && last.type !== 'tool-call-delta') return undefined
  const next = part as typeof last
  return last.id === next.id ? { ...before, part: { ...last, text: last.text + next.text } } : undefined
}
