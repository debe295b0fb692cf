/** Anthropic's Messages API: `client.messages.create({ model, max_tokens, ...requestFor(request, 'anthropic') })`. */
import type { Part } from '../../log/events/part.ts'
import { type AnswerMessage, usageOf } from './answer.ts'
import { type CleanMessage, type CleanPart, cleanMessages } from './clean.ts'
import { type ImageType, imageSource } from './images.ts'
import type { PlainRequest, RequestForOptions } from './request-form.ts'
import { anthropicSignature, fromAnthropicSignature } from './signature.ts'
import { plainCallId, wireToolName } from './wire-names.ts'

type CacheMark = { cache_control?: { type: 'ephemeral' } }
type TextBlock = { type: 'text'; text: string } & CacheMark
type ImageBlock = {
  type: 'image'
  source: { type: 'base64'; media_type: ImageType; data: string } | { type: 'url'; url: string }
} & CacheMark
type CallBlock = { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> } & CacheMark
type ResultBlock = { type: 'tool_result'; tool_use_id: string; content: string; is_error?: boolean } & CacheMark
type ThinkingBlock =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }

export interface AnthropicRequest {
  system?: TextBlock[]
  messages: Array<{
    role: 'user' | 'assistant'
    content: Array<TextBlock | ImageBlock | CallBlock | ResultBlock | ThinkingBlock>
  }>
  tools?: Array<{
    name: string
    description: string
    input_schema: { type: 'object'; [key: string]: unknown }
    cache_control?: { type: 'ephemeral' }
  }>
}

type Message = AnthropicRequest['messages'][number]

export function anthropicRequest(request: PlainRequest, { tools = [], cache }: RequestForOptions): AnthropicRequest {
  const messages = cleanMessages(request.messages, plainCallId).flatMap(messageOf)
  const system = request.system.trim() === '' ? [] : [{ type: 'text' as const, text: request.system.toWellFormed() }]
  const form: AnthropicRequest = {
    ...(system.length > 0 && { system }),
    messages,
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        name: wireToolName(name),
        description,
        input_schema: { ...inputSchema, type: 'object' as const },
      })),
    }),
  }
  if (cache) mark(form)
  return form
}

/** Marks the part that the next request begins with too: tools, system text, and all messages but the last. */
function mark({ system, tools, messages }: AnthropicRequest): void {
  const before = messages.slice(0, -1)
  // The previous request was marked at its last user message, and what was written there is found again.
  for (const message of [before.at(-1), before.slice(0, -1).findLast(({ role }) => role === 'user')]) {
    const block = message?.content.findLast(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
    if (block) Object.assign(block, { cache_control: { type: 'ephemeral' } })
  }
  const fixed = system?.at(-1) ?? tools?.at(-1)
  if (fixed) fixed.cache_control = { type: 'ephemeral' }
}

function messageOf({ role, content }: CleanMessage): Message[] {
  const blocks = content.flatMap(blockOf)
  return blocks.length === 0 ? [] : [{ role, content: blocks }]
}

function blockOf(part: CleanPart): Message['content'] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'image': {
      const source = imageSource(part)
      if (!source) return []
      if (source.type === 'url') return [{ type: 'image', source }]
      return [{ type: 'image', source: { type: 'base64', media_type: source.mediaType, data: source.data } }]
    }
    case 'tool-call':
      return [{ type: 'tool_use', id: part.callId, name: part.name, input: part.input }]
    case 'tool-result':
      return [
        {
          type: 'tool_result',
          tool_use_id: part.callId,
          content: part.text,
          ...(part.isError && { is_error: true }),
        },
      ]
    case 'reasoning': {
      const signed = fromAnthropicSignature(part.signature)
      if (!signed) return []
      if ('data' in signed) return [{ type: 'redacted_thinking', data: signed.data }]
      return [{ type: 'thinking', thinking: part.text, signature: signed.signature }]
    }
    default:
      return part satisfies never
  }
}

/** The part of `Anthropic.Message` that is read. */
export interface AnthropicResponse {
  content: ReadonlyArray<{ type: string }>
  model?: string
  stop_reason?: string | null
  usage?: {
    input_tokens?: number | null
    output_tokens?: number | null
    cache_read_input_tokens?: number | null
    cache_creation_input_tokens?: number | null
  } | null
}

export function readAnthropic({ content, model, stop_reason, usage }: AnthropicResponse): AnswerMessage[] {
  const counted = usageOf({
    input: usage?.input_tokens,
    output: usage?.output_tokens,
    cacheRead: usage?.cache_read_input_tokens,
    cacheWrite: usage?.cache_creation_input_tokens,
  })
  return [
    {
      role: 'assistant',
      parts: content.flatMap(block => partOf(block as ResponseBlock)),
      ...(counted && { usage: counted }),
      ...(model !== undefined && { model }),
      ...(stop_reason && { stopReason: stop_reason }),
    },
  ]
}

type ResponseBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown }

function partOf(block: ResponseBlock): Part[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ type: 'text', text: block.text }]
    case 'thinking':
      return [{ type: 'reasoning', text: block.thinking, signature: anthropicSignature(block) }]
    case 'redacted_thinking':
      return [{ type: 'reasoning', text: '', signature: anthropicSignature(block) }]
    case 'tool_use':
      return [{ type: 'tool-call', callId: block.id, name: block.name, input: block.input }]
    default:
      return []
  }
}
