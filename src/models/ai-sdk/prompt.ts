/** Converts a request into the AI SDK's form. */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider'
import type { RequestMessage, RequestPart } from '../../request/text/provider-message.ts'
import type { ModelRequest, ModelTool } from '../model.ts'

/** Differences between providers in the requests they accept. */
export interface Dialect {
  /** Sent with every call. */
  callOptions?: SharedV3ProviderOptions
  /** Marks the message up to which the provider caches; absent where it caches by itself. */
  cacheMark?: SharedV3ProviderOptions
  /** The model accepts images. Others get their names in the text. */
  takesImages?: boolean
  /** Converts a call's id for a provider that restricts ids, always to the same one. */
  callId?(id: string): string
  /** Converts reasoning that is sent back; undefined where it must not be. */
  reasoning(part: ReasoningPart, position: { isCurrentTurn: boolean }): AssistantPart | undefined
}

type UserPart = Extract<LanguageModelV3Message, { role: 'user' }>['content'][number]

/** Returns nothing for an image without accessible data, because the text names it. */
function imageOf({ mediaType, url, data }: Extract<RequestPart, { type: 'image' }>): UserPart[] {
  const inside = /^data:[^,]*;base64,(.*)$/is.exec(url ?? '')?.[1]
  const source = data ?? inside ?? (url !== undefined && /^https?:/i.test(url) ? new URL(url) : undefined)
  return source === undefined ? [] : [{ type: 'file', mediaType, data: source }]
}

type ReasoningPart = Extract<RequestPart, { type: 'reasoning' }>
type AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number]
type ToolPart = Extract<LanguageModelV3Message, { role: 'tool' }>['content'][number]

export function callOptionsOf(request: ModelRequest, dialect: Dialect): LanguageModelV3CallOptions {
  const { maxOutputTokens, tools = [] } = request
  return {
    prompt: promptOf(request, dialect),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(tools.length > 0 && { tools: tools.map(toolOf) }),
    ...(dialect.callOptions && { providerOptions: dialect.callOptions }),
  }
}

function promptOf({ system, messages, cache }: ModelRequest, dialect: Dialect): LanguageModelV3Prompt {
  const marks = cache && dialect.cacheMark ? markedMessages(messages, cache.stableMessages) : undefined
  const mark = { providerOptions: dialect.cacheMark }
  const turnStart = currentTurn(messages)
  const prompt: LanguageModelV3Prompt = []
  // The tools precede the system text, so this mark covers both.
  if (system !== '') prompt.push({ role: 'system', content: system, ...(marks && mark) })
  for (const [index, message] of messages.entries()) {
    const converted =
      message.role === 'user'
        ? userMessages(message, messages, dialect)
        : assistantMessage(message, dialect, { isCurrentTurn: index >= turnStart })
    const last = converted.at(-1)
    if (last && marks?.has(index)) Object.assign(last, mark)
    prompt.push(...converted)
  }
  return prompt
}

/**
 * Returns the messages to cache up to: the last stable one, and the stable user message before it. The previous request
 * was marked there, so the provider finds its cache again.
 */
function markedMessages(messages: readonly RequestMessage[], stable: number): Set<number> {
  const last = Math.min(stable, messages.length) - 1
  const marks = new Set<number>()
  if (last < 0) return marks
  marks.add(last)
  for (let index = last - 1; index >= 0; index--) {
    if (messages[index]!.role !== 'user') continue
    marks.add(index)
    break
  }
  return marks
}

/** Returns the index where the current turn starts: after the last text of a user. */
function currentTurn(messages: readonly RequestMessage[]): number {
  const at = messages.findLastIndex(
    ({ role, content }) => role === 'user' && content.some(part => part.type === 'text'),
  )
  return at + 1
}

/** Results precede texts, because providers want them right after their calls. */
function userMessages(
  message: RequestMessage,
  all: readonly RequestMessage[],
  { callId = same, takesImages = false }: Dialect,
): LanguageModelV3Message[] {
  const results: ToolPart[] = []
  const texts: UserPart[] = []
  for (const part of message.content) {
    if (part.type === 'tool-result') {
      results.push({
        type: 'tool-result',
        toolCallId: callId(part.callId),
        toolName: part.name ?? nameOfCall(part.callId, all),
        // Some providers refuse an empty text.
        output: { type: part.isError ? 'error-text' : 'text', value: part.text === '' ? '(nothing)' : part.text },
      })
    } else if (part.type === 'text' && part.text !== '') texts.push({ type: 'text', text: part.text })
    else if (part.type === 'image' && takesImages) texts.push(...imageOf(part))
  }
  return [
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
    ...(texts.length > 0 ? [{ role: 'user' as const, content: texts }] : []),
  ]
}

function assistantMessage(
  message: RequestMessage,
  dialect: Dialect,
  position: { isCurrentTurn: boolean },
): LanguageModelV3Message[] {
  const { callId = same } = dialect
  const content: AssistantPart[] = []
  for (const part of message.content) {
    if (part.type === 'reasoning') {
      const reasoning = dialect.reasoning(part, position)
      if (reasoning) content.push(reasoning)
    } else if (part.type === 'tool-call') {
      const { name: toolName, input } = part
      content.push({ type: 'tool-call', toolCallId: callId(part.callId), toolName, input: objectOf(input) })
    } else if (part.type === 'text' && part.text !== '') content.push({ type: 'text', text: part.text })
  }
  return content.length > 0 ? [{ role: 'assistant', content }] : []
}

const same = (id: string): string => id

/** Providers accept only objects, and a recorded call may have another input. */
function objectOf(input: unknown): unknown {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input
  return input === undefined || input === null ? {} : { input }
}

function nameOfCall(callId: string, messages: readonly RequestMessage[]): string {
  for (const { content } of messages) {
    for (const part of content) if (part.type === 'tool-call' && part.callId === callId) return part.name
  }
  return 'unknown'
}

function toolOf({ name, description, inputSchema }: ModelTool): LanguageModelV3FunctionTool {
  return { type: 'function', name, description, inputSchema }
}
