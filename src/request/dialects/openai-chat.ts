/** OpenAI's chat completions, and the many that speak it: `client.chat.completions.create({ model, ...requestFor(…) })`. */
import type { Part } from '../../log/events/part.ts'
import { type AnswerMessage, argumentsOf, usageOf } from './answer.ts'
import { type CleanMessage, cleanMessages } from './clean.ts'
import { dataUrl, imageSource } from './images.ts'
import type { PlainRequest, RequestForOptions } from './request-form.ts'
import { shortCallId, wireToolName } from './wire-names.ts'

type UserPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }
type ToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } }

type ChatMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | UserPart[] }
  | { role: 'assistant'; content: string | null; tool_calls?: ToolCall[] }
  | { role: 'tool'; tool_call_id: string; content: string }

export interface OpenAiChatRequest {
  messages: ChatMessage[]
  tools?: Array<{
    type: 'function'
    function: { name: string; description: string; parameters: Record<string, unknown> }
  }>
}

export function openAiChatRequest(request: PlainRequest, { tools = [] }: RequestForOptions): OpenAiChatRequest {
  const system = request.system.toWellFormed()
  return {
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...cleanMessages(request.messages, shortCallId).flatMap(message =>
        message.role === 'user' ? userMessages(message) : assistantMessage(message),
      ),
    ],
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: 'function' as const,
        function: { name: wireToolName(name), description, parameters: { ...inputSchema } },
      })),
    }),
  }
}

function userMessages({ content }: CleanMessage): ChatMessage[] {
  const messages: ChatMessage[] = []
  const parts: UserPart[] = []
  for (const part of content) {
    // A message of the role `tool` has no field for failure, so the text says it.
    if (part.type === 'tool-result') {
      const text = part.isError ? `Error: ${part.text}` : part.text
      messages.push({ role: 'tool', tool_call_id: part.callId, content: text })
    } else if (part.type === 'text') parts.push({ type: 'text', text: part.text })
    else if (part.type === 'image') {
      const source = imageSource(part)
      if (source) parts.push({ type: 'image_url', image_url: { url: dataUrl(source) } })
    }
  }
  if (parts.length > 0) {
    const texts = parts.flatMap(part => (part.type === 'text' ? [part.text] : []))
    messages.push({ role: 'user', content: texts.length === parts.length ? texts.join('\n\n') : parts })
  }
  return messages
}

/** OpenAI shows no reasoning in this dialect, so none goes back. */
function assistantMessage({ content }: CleanMessage): ChatMessage[] {
  const texts = content.flatMap(part => (part.type === 'text' ? [part.text] : []))
  const calls = content.flatMap(part =>
    part.type === 'tool-call'
      ? [
          {
            id: part.callId,
            type: 'function' as const,
            function: { name: part.name, arguments: JSON.stringify(part.input) },
          },
        ]
      : [],
  )
  if (texts.length === 0 && calls.length === 0) return []
  return [
    {
      role: 'assistant',
      content: texts.length > 0 ? texts.join('\n\n') : null,
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ]
}

/** The part of `OpenAI.ChatCompletion` that is read. */
export interface OpenAiChatResponse {
  model?: string
  choices: ReadonlyArray<{
    finish_reason?: string | null
    message: {
      content?: string | null
      refusal?: string | null
      tool_calls?: ReadonlyArray<{ id: string; type: string }> | null
    }
  }>
  usage?: {
    prompt_tokens: number
    completion_tokens: number
    prompt_tokens_details?: { cached_tokens?: number | null } | null
    completion_tokens_details?: { reasoning_tokens?: number | null } | null
  } | null
}

export function readOpenAiChat({ choices, model, usage }: OpenAiChatResponse): AnswerMessage[] {
  const choice = choices[0]
  if (!choice) return []
  const { content, refusal, tool_calls } = choice.message
  const parts: Part[] = []
  if (content) parts.push({ type: 'text', text: content })
  else if (refusal) parts.push({ type: 'text', text: refusal })
  for (const call of (tool_calls ?? []) as ReadonlyArray<Partial<ToolCall> & { id: string }>) {
    if (!call.function) continue
    const { name, arguments: text } = call.function
    parts.push({ type: 'tool-call', callId: call.id, name, input: argumentsOf(text) })
  }
  const cacheRead = usage?.prompt_tokens_details?.cached_tokens ?? 0
  const counted = usageOf({
    input: usage && usage.prompt_tokens - cacheRead,
    output: usage?.completion_tokens,
    cacheRead,
    reasoning: usage?.completion_tokens_details?.reasoning_tokens,
  })
  return [
    {
      role: 'assistant',
      parts,
      ...(counted && { usage: counted }),
      ...(model !== undefined && { model }),
      ...(choice.finish_reason && { stopReason: choice.finish_reason }),
    },
  ]
}
