/** A request as the AI SDK's providers take it. */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider'
import type { RequestMessage, RequestPart } from '../../request/text/provider-message.ts'
import type { ModelRequest, ModelTool } from '../model.ts'

/** What differs between providers in the requests they take. */
export interface Dialect {
  /** Said with every call. */
  callOptions?: SharedV3ProviderOptions
  /** Marks a message up to which the provider shall cache; absent where it does so by itself. */
  cacheMark?: SharedV3ProviderOptions
  /** Whether the model sees. Where it does not, the text names what there is to see. */
  takesImages?: boolean
  /** A call's id as this provider takes it, where it is particular about them; the same for the same, always. */
  callId?(id: string): string
  /** How reasoning goes back to the model that had it; undefined where it must not. */
  reasoning(part: ReasoningPart, place: { isCurrentTurn: boolean }): AssistantPart | undefined
}

type UserPart = Extract<LanguageModelV3Message, { role: 'user' }>['content'][number]

/** Nothing where nobody could look at it: the text beside it names it. */
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
  const marks = cache && dialect.cacheMark ? marked(messages, cache.stableMessages) : undefined
  const mark = { providerOptions: dialect.cacheMark }
  const turnStart = currentTurn(messages)
  const prompt: LanguageModelV3Prompt = []
  // The tools stand before the system text, so this mark covers both.
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
 * The messages to cache up to: the last stable one, and the stable user message before it. That one is where the
 * previous request was marked, and what a provider wrote there is found again for certain.
 */
function marked(messages: readonly RequestMessage[], stable: number): Set<number> {
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

/** Where the turn that is under way begins: behind the last words of somebody else. */
function currentTurn(messages: readonly RequestMessage[]): number {
  const at = messages.findLastIndex(
    ({ role, content }) => role === 'user' && content.some(part => part.type === 'text'),
  )
  return at + 1
}

/** Results come before words, as providers want them right after their calls. */
function userMessages(
  message: RequestMessage,
  all: readonly RequestMessage[],
  { callId = same, takesImages = false }: Dialect,
): LanguageModelV3Message[] {
  const results: ToolPart[] = []
  const words: UserPart[] = []
  for (const part of message.content) {
    if (part.type === 'tool-result') {
      results.push({
        type: 'tool-result',
        toolCallId: callId(part.callId),
        toolName: part.name ?? nameOfCall(part.callId, all),
        // An empty text is refused by some and means the same as this.
        output: { type: part.isError ? 'error-text' : 'text', value: part.text === '' ? '(nothing)' : part.text },
      })
    } else if (part.type === 'text' && part.text !== '') words.push({ type: 'text', text: part.text })
    else if (part.type === 'image' && takesImages) words.push(...imageOf(part))
  }
  return [
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
    ...(words.length > 0 ? [{ role: 'user' as const, content: words }] : []),
  ]
}

function assistantMessage(
  message: RequestMessage,
  dialect: Dialect,
  place: { isCurrentTurn: boolean },
): LanguageModelV3Message[] {
  const { callId = same } = dialect
  const content: AssistantPart[] = []
  for (const part of message.content) {
    if (part.type === 'reasoning') {
      const kept = dialect.reasoning(part, place)
      if (kept) content.push(kept)
    } else if (part.type === 'tool-call') {
      const { name: toolName, input } = part
      content.push({ type: 'tool-call', toolCallId: callId(part.callId), toolName, input: objectOf(input) })
    } else if (part.type === 'text' && part.text !== '') content.push({ type: 'text', text: part.text })
  }
  return content.length > 0 ? [{ role: 'assistant', content }] : []
}

const same = (id: string): string => id

/** Providers take objects only; whoever recorded something else shall not lose the conversation for it. */
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
