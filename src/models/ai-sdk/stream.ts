/** Parts of an AI SDK stream become parts of ours. */
import type { LanguageModelV3StreamPart, LanguageModelV3Usage, SharedV3ProviderMetadata } from '@ai-sdk/provider'
import type { Usage } from '../../log/events/message.ts'
import { failed } from '../failure.ts'
import type { ModelPart, StopReason } from '../model.ts'

/** What a provider wants back with its reasoning, out of what its SDK says about it. */
export type SignatureOf = (metadata: SharedV3ProviderMetadata) => string | undefined

interface Translation {
  /** The parts for one of theirs: none, one or two. Errors of theirs are not for here. */
  translate(part: LanguageModelV3StreamPart): ModelPart[]
}

/** @param taken ids of earlier calls in the conversation: some servers begin anew with every answer */
export function translation(signatureOf: SignatureOf, taken: Iterable<string> = []): Translation {
  /** Their id of an open block → ours. Theirs may come twice in one answer. */
  const open = new Map<string, string>()
  const signatures = new Map<string, string>()
  /** Their id of a call → ours, which pairs it with its result for ever. */
  const calls = new Map<string, string>()
  const used = new Set(taken)
  let blocks = 0

  function beginCall(theirs: string): string {
    let id = theirs
    for (let number = 2; used.has(id); number++) id = `${theirs}-${number}`
    used.add(id)
    calls.set(theirs, id)
    return id
  }

  function begin(key: string): string {
    const id = `${key.split(' ')[0]}-${++blocks}`
    open.set(key, id)
    return id
  }

  function sign(key: string, metadata: SharedV3ProviderMetadata | undefined): void {
    const signature = metadata && signatureOf(metadata)
    if (signature !== undefined) signatures.set(key, signature)
  }

  return {
    translate(part) {
      switch (part.type) {
        case 'text-start':
          return [{ type: 'text-start', id: begin(`text ${part.id}`) }]
        case 'text-delta':
          return part.delta === '' ? [] : [{ type: 'text-delta', id: open.get(`text ${part.id}`)!, text: part.delta }]
        case 'text-end':
          return [{ type: 'text-end', id: open.get(`text ${part.id}`)! }]
        case 'reasoning-start': {
          const key = `reasoning ${part.id}`
          signatures.delete(key)
          sign(key, part.providerMetadata)
          return [{ type: 'reasoning-start', id: begin(key) }]
        }
        case 'reasoning-delta': {
          const key = `reasoning ${part.id}`
          sign(key, part.providerMetadata)
          return part.delta === '' ? [] : [{ type: 'reasoning-delta', id: open.get(key)!, text: part.delta }]
        }
        case 'reasoning-end': {
          const key = `reasoning ${part.id}`
          sign(key, part.providerMetadata)
          const signature = signatures.get(key)
          return [{ type: 'reasoning-end', id: open.get(key)!, ...(signature !== undefined && { signature }) }]
        }
        case 'tool-input-start':
          return [{ type: 'tool-call-start', id: beginCall(part.id), name: part.toolName }]
        case 'tool-input-delta':
          return [{ type: 'tool-call-delta', id: calls.get(part.id)!, text: part.delta }]
        case 'tool-call': {
          const { toolCallId, toolName: name } = part
          const begun = calls.get(toolCallId)
          const id = begun ?? beginCall(toolCallId)
          const end: ModelPart = { type: 'tool-call-end', id, name, ...argumentsOf(part.input) }
          return begun === undefined ? [{ type: 'tool-call-start', id, name }, end] : [end]
        }
        case 'finish':
          return [ending(part, calls.size > 0)]
        default:
          return []
      }
    },
  }
}

function ending(
  { finishReason, usage: theirs }: Extract<LanguageModelV3StreamPart, { type: 'finish' }>,
  hasCalls: boolean,
): ModelPart {
  const usage = usageOf(theirs)
  const facts = usage && { usage }
  switch (finishReason.unified) {
    case 'content-filter':
      return failed('refused', 'The provider or the model refused to answer this.', facts)
    case 'error':
      return failed('bad-response', 'The provider broke the answer off.', facts)
    default: {
      const reason: StopReason = finishReason.unified
      // Some servers say that they stopped and mean that they wait for their calls.
      const stopReason = hasCalls && (reason === 'stop' || reason === 'other') ? 'tool-calls' : reason
      return { type: 'finish', stopReason, ...facts }
    }
  }
}

/**
 * A call's arguments, read strictly: a command that runs on half its arguments does more harm than one asked for again.
 * What cannot be read is kept as it is, in an object, for providers want one back.
 */
function argumentsOf(text: string): { input: unknown; problem?: string } {
  try {
    const input: unknown = text.trim() === '' ? {} : JSON.parse(text)
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return { input }
    return { input: { unreadable: text }, problem: 'The arguments are not a JSON object.' }
  } catch (error) {
    return { input: { unreadable: text }, problem: `The arguments are not JSON: ${(error as Error).message}` }
  }
}

function usageOf({ inputTokens, outputTokens }: LanguageModelV3Usage): Usage | undefined {
  // Zero is what some gateways write when they do not know; every real call has used something.
  if (!inputTokens.total && !outputTokens.total) return undefined
  const { total = 0, cacheRead = 0, cacheWrite = 0 } = inputTokens
  const { reasoning = 0 } = outputTokens
  return {
    input: inputTokens.noCache ?? Math.max(0, total - cacheRead - cacheWrite),
    output: outputTokens.total ?? 0,
    ...(cacheRead > 0 && { cacheRead }),
    ...(cacheWrite > 0 && { cacheWrite }),
    ...(reasoning > 0 && { reasoning }),
  }
}
