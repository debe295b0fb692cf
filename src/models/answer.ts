/** The parts of an answer put together, for those who want it whole; also of one that failed on the way. */
import type { Usage } from '../log/events/message.ts'
import { asFailure, failed } from './failure.ts'
import type { Model, ModelFailure, ModelPart, ModelRequest, StopReason } from './model.ts'

export type AnswerPart =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string; signature?: string }
  | { type: 'tool-call'; callId: string; name: string; input: unknown; problem?: string }

export type ModelAnswer = {
  /** In the order in which they began. Of a failed answer: what was said, without its calls. */
  content: AnswerPart[]
  /** The text parts, one after the other. */
  text: string
} & (
  | { ok: true; stopReason: StopReason; usage?: Usage; outsideIds?: Readonly<Record<string, string>> }
  | { ok: false; failure: ModelFailure }
)

export interface AnswerCollector {
  add(part: ModelPart): void
  /** The answer so far; a failure as long as no `finish` has come. */
  answer(): ModelAnswer
}

/** Collects parts that somebody else reads, so that an answer can be shown live and kept. */
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
      const whole = [...blocks.values()].filter(block => block !== undefined)
      if (end?.type === 'finish') {
        const { stopReason, usage, outsideIds } = end
        return { ok: true, ...said(whole), stopReason, ...(usage && { usage }), ...(outsideIds && { outsideIds }) }
      }
      const failure = end ? asFailure(end) : asFailure(failed('network', 'The answer ended before it was finished.'))
      return { ok: false, ...said(whole.filter(block => block.type !== 'tool-call')), failure }
    },
  }
}

/**
 * The whole answer; `onPart` is told of its parts as they come. The request's signal ends the wait even for a model that
 * heeds none.
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
    // Not waited for: one that stalls does not end either.
    parts.return?.()?.catch(() => undefined)
  }
}

function cancelledBy(signal: AbortSignal | undefined): { cancelled: Promise<'cancelled'>; forget(): void } {
  let abort = () => {}
  const cancelled = new Promise<'cancelled'>(resolve => {
    // A model that heeds the signal says more of it than we could: it is given a turn to.
    abort = () => setTimeout(resolve, graceMs, 'cancelled')
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
  })
  return { cancelled, forget: () => signal?.removeEventListener('abort', abort) }
}

const graceMs = 50

type BlockPart = Exclude<ModelPart, { type: 'start' | 'waiting' | 'finish' | 'failure' }>

/** A call holds its place from the start and counts once it is whole. */
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

function said(blocks: readonly AnswerPart[]): { content: AnswerPart[]; text: string } {
  const content = blocks.filter(isSomething)
  return { content, text: content.map(block => (block.type === 'text' ? block.text : '')).join('') }
}

function isSomething(block: AnswerPart): boolean {
  if (block.type === 'text') return block.text !== ''
  return block.type === 'tool-call' || block.text !== '' || block.signature !== undefined
}
