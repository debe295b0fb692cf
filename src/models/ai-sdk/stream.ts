/** Converts the parts of an AI SDK stream. */
import type { LanguageModelV3StreamPart, LanguageModelV3Usage, SharedV3ProviderMetadata } from '@ai-sdk/provider'
import type { Usage } from '../../log/events/message.ts'
import { failed } from '../failure.ts'
import type { ModelPart, StopReason } from '../model.ts'

/** Extracts the signature that a provider wants back with its reasoning. */
export type SignatureOf = (metadata: SharedV3ProviderMetadata) => string | undefined

interface Translation {
  /** Returns none, one or two parts. Error parts are handled by the caller. */
  translate(part: LanguageModelV3StreamPart): ModelPart[]
}

/** @param earlierIds ids of earlier calls, because some servers restart their ids with every answer */
export function translation(signatureOf: SignatureOf, earlierIds: Iterable<string> = []): Translation {
  /** Provider's id of an open block → our id. The provider's may occur twice in one answer. */
  const open = new Map<string, string>()
  const signatures = new Map<string, string>()
  /** Provider's id of a call → our id, which stays unique in the conversation. */
  const calls = new Map<string, string>()
  const used = new Set(earlierIds)
  let blocks = 0

  function beginCall(providerId: string): string {
    let id = providerId
    for (let number = 2; used.has(id); number++) id = `${providerId}-${number}`
    used.add(id)
    calls.set(providerId, id)
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
          const openId = calls.get(toolCallId)
          const id = openId ?? beginCall(toolCallId)
          const end: ModelPart = { type: 'tool-call-end', id, name, ...argumentsOf(part.input) }
          return openId === undefined ? [{ type: 'tool-call-start', id, name }, end] : [end]
        }
        case 'finish':
          return [finalPart(part, calls.size > 0)]
        default:
          return []
      }
    },
  }
}

function finalPart(
  { finishReason, usage: reportedUsage }: Extract<LanguageModelV3StreamPart, { type: 'finish' }>,
  hasCalls: boolean,
): ModelPart {
  const usage = usageOf(reportedUsage)
  const facts = usage && { usage }
  switch (finishReason.unified) {
    case 'content-filter':
      return failed('refused', 'The provider or the model refused to answer this.', facts)
    case 'error':
      return failed('bad-response', 'The provider ended the answer with an error.', facts)
    default: {
      const reason: StopReason = finishReason.unified
      // Some servers report a stop although the answer has calls.
      const stopReason = hasCalls && (reason === 'stop' || reason === 'other') ? 'tool-calls' : reason
      return { type: 'finish', stopReason, ...facts }
    }
  }
}

/**
 * Parses a call's arguments strictly, because a command with half of its arguments does harm. Unreadable text is kept in
 * an object, because providers want one back.
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
  // Some gateways report zero for an unknown usage.
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
