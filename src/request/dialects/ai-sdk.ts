/** Vercel's AI SDK: `generateText({ model, ...requestFor(request, 'ai-sdk') })`. Its tools are functions: pass yours. */
import type { Part } from '../../log/events/part.ts'
import { type AnswerMessage, usageOf } from './answer.ts'
import { type CleanMessage, cleanJson, cleanMessages } from './clean.ts'
import { imageSource } from './images.ts'
import type { PlainRequest } from './request-form.ts'
import { sealed, unsealed } from './signature.ts'
import { shortCallId } from './wire-names.ts'

type ProviderOptions = Record<string, Record<string, Json>>
type Json = null | string | number | boolean | Json[] | { [key: string]: Json | undefined }
type UserContent = { type: 'text'; text: string } | { type: 'image'; image: string | URL; mediaType: string }
type AssistantContent =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string; providerOptions?: ProviderOptions }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: Record<string, unknown> }
type ToolContent = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: { type: 'text' | 'error-text'; value: string }
}
type ModelMessage =
  | { role: 'user'; content: UserContent[] }
  | { role: 'assistant'; content: AssistantContent[] }
  | { role: 'tool'; content: ToolContent[] }

export interface AiSdkRequest {
  system?: string
  messages: ModelMessage[]
}

export function aiSdkRequest(request: PlainRequest): AiSdkRequest {
  const system = request.system.toWellFormed()
  return {
    ...(system.trim() !== '' && { system }),
    messages: cleanMessages(request.messages, shortCallId).flatMap(message =>
      message.role === 'user' ? userMessages(message) : assistantMessage(message),
    ),
  }
}

function userMessages({ content }: CleanMessage): ModelMessage[] {
  const results: ToolContent[] = []
  const words: UserContent[] = []
  for (const part of content) {
    if (part.type === 'text') words.push({ type: 'text', text: part.text })
    else if (part.type === 'image') {
      const source = imageSource(part)
      const image = source && (source.type === 'url' ? new URL(source.url) : source.data)
      if (image) words.push({ type: 'image', image, mediaType: part.mediaType })
    } else if (part.type === 'tool-result') {
      const { callId: toolCallId, name: toolName, text: value, isError } = part
      results.push({
        type: 'tool-result',
        toolCallId,
        toolName,
        output: { type: isError ? 'error-text' : 'text', value },
      })
    }
  }
  return [
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
    ...(words.length > 0 ? [{ role: 'user' as const, content: words }] : []),
  ]
}

function assistantMessage({ content }: CleanMessage): ModelMessage[] {
  const parts = content.flatMap((part): AssistantContent[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }]
    if (part.type === 'tool-call')
      return [{ type: 'tool-call', toolCallId: part.callId, toolName: part.name, input: part.input }]
    const providerOptions =
      part.type === 'reasoning' ? (unsealed('ai-sdk', part.signature) as ProviderOptions | undefined) : undefined
    return providerOptions && part.type === 'reasoning' ? [{ type: 'reasoning', text: part.text, providerOptions }] : []
  })
  return parts.length > 0 ? [{ role: 'assistant', content: parts }] : []
}

/** The part of a result of `generateText`, or of what `streamText` gives `onFinish`, that is read. */
export interface AiSdkResponse {
  steps?: readonly AiSdkStep[]
  content?: AiSdkStep['content']
  usage?: AiSdkStep['usage']
  finishReason?: string
  response?: AiSdkStep['response']
}

interface AiSdkStep {
  content: ReadonlyArray<{ type: string }>
  usage?: {
    inputTokens?: number | undefined
    outputTokens?: number | undefined
    inputTokenDetails?: {
      noCacheTokens?: number | undefined
      cacheReadTokens?: number | undefined
      cacheWriteTokens?: number | undefined
    }
    outputTokenDetails?: { reasoningTokens?: number | undefined }
  }
  finishReason?: string
  response?: { modelId?: string }
}

/** Each step is one call of the model, with its own usage; results of tools that the SDK ran follow it. */
export function readAiSdk(result: AiSdkResponse): AnswerMessage[] {
  const { steps, content = [], ...last } = result
  return (steps ?? [{ content, ...last }]).flatMap(stepMessages)
}

type StepPart =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string; providerMetadata?: unknown }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown }
  | { type: 'tool-result'; toolCallId: string; toolName: string; output: unknown }
  | { type: 'tool-error'; toolCallId: string; toolName: string; error: unknown }

function stepMessages({ content, usage, finishReason, response }: AiSdkStep): AnswerMessage[] {
  const own: Part[] = []
  const results: Part[] = []
  for (const part of content as readonly StepPart[]) {
    if (part.type === 'text' && part.text !== '') own.push({ type: 'text', text: part.text })
    else if (part.type === 'reasoning') {
      const { text, providerMetadata } = part
      own.push({
        type: 'reasoning',
        text,
        ...(providerMetadata !== undefined && { signature: sealed('ai-sdk', providerMetadata) }),
      })
    } else if (part.type === 'tool-call') {
      own.push({ type: 'tool-call', callId: part.toolCallId, name: part.toolName, input: cleanJson(part.input) })
    } else if (part.type === 'tool-result') {
      results.push({ type: 'tool-result', callId: part.toolCallId, name: part.toolName, output: part.output })
    } else if (part.type === 'tool-error') {
      const output = part.error instanceof Error ? part.error.message : String(part.error)
      results.push({ type: 'tool-result', callId: part.toolCallId, name: part.toolName, output, isError: true })
    }
  }
  const { inputTokenDetails: input, outputTokenDetails: output } = usage ?? {}
  const cacheRead = input?.cacheReadTokens ?? 0
  const cacheWrite = input?.cacheWriteTokens ?? 0
  const counted = usageOf({
    input: input?.noCacheTokens ?? (usage?.inputTokens ?? 0) - cacheRead - cacheWrite,
    output: usage?.outputTokens,
    cacheRead,
    cacheWrite,
    reasoning: output?.reasoningTokens,
  })
  return [
    {
      role: 'assistant',
      parts: own,
      ...(counted && { usage: counted }),
      ...(response?.modelId !== undefined && { model: response.modelId }),
      ...(finishReason !== undefined && { stopReason: finishReason }),
    },
    ...(results.length > 0 ? [{ role: 'tool' as const, parts: results }] : []),
  ]
}
