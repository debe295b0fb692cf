/** Assembles a streamed answer, complete or failed. */
import type { Usage } from '../log/events/message.ts'
import { asFailure, failed } from './failure.ts'
import type { Model, ModelFailure, ModelPart, ModelRequest, StopReason } from './model.ts'

export type AnswerPart =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string; signature?: string }
  | { type: 'tool-call'; callId: string; name: string; input: unknown; problem?: string }

export type ModelAnswer = {
  /** Parts in the order of their starts. A failed answer has no calls. */
  content: AnswerPart[]
  /** The joined text parts. */
  text: string
} & (
  | { ok: true; stopReason: StopReason; usage?: Usage; outsideIds?: Readonly<Record<string, string>> }
  | { ok: false; failure: ModelFailure }
)

export interface AnswerCollector {
  add(part: ModelPart): void
  /** Returns the answer so far. Without a `finish` it is a failure. */
  answer(): ModelAnswer
}

/** Collects the parts of a stream that is read elsewhere, so that an answer can be shown live and kept. */
export function answerCollector(): AnswerCollector {
  let blocks = new Map<string, AnswerPart | undefined>()
  let end: Extract<ModelPart, { type: 'finish' | 'failure' }> | undefined
  return {
    add(part) {
      if (part.type === 'start') {
        blocks = new Map()
        end = undefined
      } else if (part.type === 'finish' || part.type === 'failure') end = part
      else if (part.type !== 'waiting') addToBlock(blocks, part)
    },
    answer() {
      const parts = [...blocks.values()].filter(block => block !== undefined)
      if (end?.type === 'finish') {
        const { stopReason, usage, outsideIds } = end
        return { ok: true, ...contentOf(parts), stopReason, ...(usage && { usage }), ...(outsideIds && { outsideIds }) }
      }
      const failure = end ? asFailure(end) : asFailure(failed('network', 'The answer ended before it was finished.'))
      return { ok: false, ...contentOf(parts.filter(block => block.type !== 'tool-call')), failure }
    },
  }
}

/**
 * Returns the whole answer; `onPart` gets its parts as they arrive. The request's signal ends the wait even for a model
 * that ignores it.
 */
export async function answerOf(
  model: Model,
  request: ModelRequest,
  onPart?: (part: ModelPart) => void,
): Promise<ModelAnswer> {
  const collector = answerCollector()
  const parts = model.stream(request)[Symbol.asyncIterator]()
  const { cancelled, forget } = cancelledBy(request.signal)
  try {
    for (;;) {
      const next = await Promise.race([parts.next(), cancelled])
      if (next === 'cancelled') {
        collector.add(failed('cancelled', 'The answer did not come in time.'))
        return collector.answer()
      }
      if (next.done) return collector.answer()
      collector.add(next.value)
      onPart?.(next.value)
    }
  } finally {
    forget()
    // Not awaited, because a stalled stream does not end.
    parts.return?.()?.catch(() => undefined)
  }
}

function cancelledBy(signal: AbortSignal | undefined): { cancelled: Promise<'cancelled'>; forget(): void } {
  let abort = () => {}
  const cancelled = new Promise<'cancelled'>(resolve => {
    // A model that reacts to the signal reports more details, so it gets a moment.
    abort = () => setTimeout(resolve, graceMs, 'cancelled')
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
  })
  return { cancelled, forget: () => signal?.removeEventListener('abort', abort) }
}

const graceMs = 50

type BlockPart = Exclude<ModelPart, { type: 'start' | 'waiting' | 'finish' | 'failure' }>

/** A call has its place from its start, and counts once it is complete. */
function addToBlock(blocks: Map<string, AnswerPart | undefined>, part: BlockPart): void {
  const key = `${part.type.slice(0, part.type.lastIndexOf('-'))} ${part.id}`
  const block = blocks.get(key)
  switch (part.type) {
    case 'text-start':
      blocks.set(key, { type: 'text', text: '' })
      break
    case 'reasoning-start':
      blocks.set(key, { type: 'reasoning', text: '' })
      break
    case 'tool-call-start':
      blocks.set(key, undefined)
      break
    case 'text-delta':
    case 'reasoning-delta':
      if (block && block.type !== 'tool-call') block.text += part.text
      break
    case 'reasoning-end':
      if (block?.type === 'reasoning' && part.signature !== undefined) block.signature = part.signature
      break
    case 'tool-call-end': {
      const { id, name, input, problem } = part
      blocks.set(key, { type: 'tool-call', callId: id, name, input, ...(problem !== undefined && { problem }) })
      break
    }
    case 'tool-call-delta':
    case 'text-end':
      break
    default:
      part satisfies never
  }
}

function contentOf(blocks: readonly AnswerPart[]): { content: AnswerPart[]; text: string } {
  const content = blocks.filter(isNotEmpty)
  return { content, text: content.map(block => (block.type === 'text' ? block.text : '')).join('') }
}

function isNotEmpty(block: AnswerPart): boolean {
  if (block.type === 'text') return block.text !== ''
  return block.type === 'tool-call' || block.text !== '' || block.signature !== undefined
}
