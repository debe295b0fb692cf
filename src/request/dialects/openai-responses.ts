/** OpenAI's Responses API: `client.responses.create({ model, ...requestFor(request, 'openai-responses') })`. */
import type { Part } from '../../log/events/part.ts'
import { type AnswerMessage, argumentsOf, usageOf } from './answer.ts'
import { type CleanMessage, type CleanPart, cleanMessages } from './clean.ts'
import { dataUrl, imageSource } from './images.ts'
import type { PlainRequest, RequestForOptions } from './request-form.ts'
import { sealed, unsealed } from './signature.ts'
import { plainCallId, wireToolName } from './wire-names.ts'

type UserContent = { type: 'input_text'; text: string } | { type: 'input_image'; image_url: string; detail: 'auto' }

interface ReasoningItem {
  type: 'reasoning'
  id: string
  summary: Array<{ type: 'summary_text'; text: string }>
  encrypted_content?: string | null
}

type InputItem =
  | { role: 'user'; content: UserContent[] }
  | { role: 'assistant'; content: string }
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
  | { type: 'function_call_output'; call_id: string; output: string }
  | ReasoningItem

export interface OpenAiResponsesRequest {
  instructions?: string
  input: InputItem[]
  tools?: Array<{
    type: 'function'
    name: string
    description: string
    parameters: Record<string, unknown>
    strict: boolean
  }>
}

export function openAiResponsesRequest(
  request: PlainRequest,
  { tools = [] }: RequestForOptions,
): OpenAiResponsesRequest {
  const instructions = request.system.toWellFormed()
  return {
    ...(instructions.trim() !== '' && { instructions }),
    input: cleanMessages(request.messages, plainCallId).flatMap(message =>
      message.role === 'user' ? userItems(message) : message.content.flatMap(assistantItem),
    ),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: 'function' as const,
        name: wireToolName(name),
        description,
        parameters: { ...inputSchema },
        strict: false,
      })),
    }),
  }
}

function userItems({ content }: CleanMessage): InputItem[] {
  const items: InputItem[] = []
  const words: UserContent[] = []
  for (const part of content) {
    // An output has no field for failure, so the text says it.
    if (part.type === 'tool-result') {
      const output = part.isError ? `Error: ${part.text}` : part.text
      items.push({ type: 'function_call_output', call_id: part.callId, output })
    } else if (part.type === 'text') words.push({ type: 'input_text', text: part.text })
    else if (part.type === 'image') {
      const source = imageSource(part)
      if (source) words.push({ type: 'input_image', image_url: dataUrl(source), detail: 'auto' })
    }
  }
  return words.length > 0 ? [...items, { role: 'user', content: words }] : items
}

function assistantItem(part: CleanPart): InputItem[] {
  if (part.type === 'text') return [{ role: 'assistant', content: part.text }]
  if (part.type === 'tool-call') {
    const { callId, name, input } = part
    return [{ type: 'function_call', call_id: callId, name, arguments: JSON.stringify(input) }]
  }
  // Only a reasoning item that carries its encrypted content can be read by a server that stored nothing.
  const item = part.type === 'reasoning' ? (unsealed('openai', part.signature) as ReasoningItem | undefined) : undefined
  return item?.encrypted_content ? [item] : []
}

/** The part of `OpenAI.Responses.Response` that is read. */
export interface OpenAiResponsesResponse {
  model?: string
  status?: string | null
  incomplete_details?: { reason?: string } | null
  output: ReadonlyArray<{ type: string }>
  usage?: {
    input_tokens: number
    output_tokens: number
    input_tokens_details?: { cached_tokens?: number | null } | null
    output_tokens_details?: { reasoning_tokens?: number | null } | null
  } | null
}

export function readOpenAiResponses(response: OpenAiResponsesResponse): AnswerMessage[] {
  const { output, model, status, incomplete_details, usage } = response
  const cacheRead = usage?.input_tokens_details?.cached_tokens ?? 0
  const counted = usageOf({
    input: usage && usage.input_tokens - cacheRead,
    output: usage?.output_tokens,
    cacheRead,
    reasoning: usage?.output_tokens_details?.reasoning_tokens,
  })
  const stopReason = incomplete_details?.reason ?? status
  return [
    {
      role: 'assistant',
      parts: output.flatMap(item => partsOf(item as OutputItem)),
      ...(counted && { usage: counted }),
      ...(model !== undefined && { model }),
      ...(stopReason && { stopReason }),
    },
  ]
}

type OutputItem =
  | { type: 'message'; content: ReadonlyArray<{ type: string; text?: string; refusal?: string }> }
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
  | ReasoningItem

function partsOf(item: OutputItem): Part[] {
  switch (item.type) {
    case 'message':
      return item.content.flatMap(({ text, refusal }) => {
        const words = text ?? refusal ?? ''
        return words === '' ? [] : [{ type: 'text', text: words }]
      })
    case 'function_call':
      return [{ type: 'tool-call', callId: item.call_id, name: item.name, input: argumentsOf(item.arguments) }]
    case 'reasoning': {
      const { id, summary, encrypted_content } = item
      const text = summary.map(part => part.text).join('\n\n')
      const kept: ReasoningItem = { type: 'reasoning', id, summary, ...(encrypted_content && { encrypted_content }) }
      return [{ type: 'reasoning', text, signature: sealed('openai', kept) }]
    }
    default:
      return []
  }
}
