/** Streams what runs of this process say while they say it. Nothing is stored: the log has completed answers. */
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
  /** Starts with what running answers have said so far; otherwise starts now. */
  soFar?: boolean
  signal?: AbortSignal
}

export interface LiveChannel {
  publish(update: LiveUpdate): void
  /**
   * Deltas that a slow reader has not taken are joined, so that it is never far behind. A reader that takes nothing
   * loses what exceeds the limit.
   */
  listen(filter: LiveFilter): AsyncIterableIterator<LiveUpdate>
  /** Number of readers, and of characters waiting for them. */
  queue(): { readers: number; characters: number }
  close(): void
}

/** Maximum backlog of one reader, in characters and in updates. */
const mostCharacters = 200_000
const mostUpdates = 2000

export function liveChannel(): LiveChannel {
  const listeners = new Set<{ take(update: LiveUpdate): void; waiting(): number; end(): void }>()
  /** Text of each run since its model was last called. */
  const underWay = new Map<string, LiveUpdate[]>()
  let isClosed = false

  function remember(update: LiveUpdate): void {
    const { runId, part } = update
    if (part.type === 'run-end') underWay.delete(runId)
    // A restarted answer counts from its restart; a completed one is in the log.
    else if (part.type === 'run-start' || part.type === 'start') underWay.set(runId, [update])
    else if (part.type === 'finish' || part.type === 'failure') underWay.set(runId, [])
    else {
      const said = underWay.get(runId)
      if (said) add(said, update)
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
        if (characters > mostCharacters || queue.length > mostUpdates) {
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
      if (soFar) for (const said of underWay.values()) for (const update of said) listener.take(update)
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

/** Appends behind the backlog of the same run; other runs do not matter. */
function add(queue: LiveUpdate[], update: LiveUpdate): void {
  const at = queue.findLastIndex(one => one.runId === update.runId)
  const joined = at < 0 ? undefined : joinedWith(queue[at]!, update)
  if (joined) queue[at] = joined
  else queue.push(update)
}

function sizeOf({ part }: LiveUpdate): number {
  return 'text' in part ? part.text.length : 100
}

/** Joins two consecutive deltas of the same block. */
function joinedWith(before: LiveUpdate, { runId, part }: LiveUpdate): LiveUpdate | undefined {
  const last = before.part
  if (before.runId !== runId || last.type !== part.type) return undefined
  if (last.type !== 'text-delta' && last.type !== 'reasoning-delta' && last.type !== 'tool-call-delta') return undefined
  const more = part as typeof last
  return last.id === more.id ? { ...before, part: { ...last, text: last.text + more.text } } : undefined
}
