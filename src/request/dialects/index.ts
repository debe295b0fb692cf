/**
 * A request in the form that people send, and back: what each SDK's call takes, and what it returned as messages.
 *
 * Plain data in and out, so it serves in browsers and for requests that came over HTTP.
 */
import { InvalidInput } from '../../errors.ts'
import { type AiSdkRequest, type AiSdkResponse, aiSdkRequest, readAiSdk } from './ai-sdk.ts'
import type { AnswerMessage } from './answer.ts'
import { type AnthropicRequest, type AnthropicResponse, anthropicRequest, readAnthropic } from './anthropic.ts'
import { type GeminiRequest, type GeminiResponse, geminiRequest, readGemini } from './gemini.ts'
import { type OpenAiChatRequest, type OpenAiChatResponse, openAiChatRequest, readOpenAiChat } from './openai-chat.ts'
import {
  type OpenAiResponsesRequest,
  type OpenAiResponsesResponse,
  openAiResponsesRequest,
  readOpenAiResponses,
} from './openai-responses.ts'
import type { PlainRequest, RequestForOptions } from './request-form.ts'

export interface RequestForms {
  anthropic: AnthropicRequest
  'openai-chat': OpenAiChatRequest
  'openai-responses': OpenAiResponsesRequest
  'ai-sdk': AiSdkRequest
  gemini: GeminiRequest
}

export interface ResponseForms {
  anthropic: AnthropicResponse
  'openai-chat': OpenAiChatResponse
  'openai-responses': OpenAiResponsesResponse
  'ai-sdk': AiSdkResponse
  gemini: GeminiResponse
}

export type Dialect = keyof RequestForms

const writers: { [D in Dialect]: (request: PlainRequest, options: RequestForOptions) => RequestForms[D] } = {
  anthropic: anthropicRequest,
  'openai-chat': openAiChatRequest,
  'openai-responses': openAiResponsesRequest,
  'ai-sdk': aiSdkRequest,
  gemini: geminiRequest,
}

const readers: { [D in Dialect]: (response: ResponseForms[D]) => AnswerMessage[] } = {
  anthropic: readAnthropic,
  'openai-chat': readOpenAiChat,
  'openai-responses': readOpenAiResponses,
  'ai-sdk': readAiSdk,
  gemini: readGemini,
}

export const dialects = Object.keys(writers) as readonly Dialect[]

/**
 * A request as the call of an SDK takes it: system text, messages, and tools where they are given.
 *
 * @throws {InvalidInput} when there is no such dialect
 */
export function requestFor<D extends Dialect>(
  request: PlainRequest,
  dialect: D,
  options: RequestForOptions = {},
): RequestForms[D] {
  checkDialect(dialect)
  return writers[dialect](request, options)
}

/**
 * The messages that an SDK's answer stands for.
 *
 * @throws {InvalidInput} when there is no such dialect, or nothing of it in the response
 */
export function readResponse<D extends Dialect>(dialect: D, response: ResponseForms[D]): AnswerMessage[] {
  checkDialect(dialect)
  let messages: AnswerMessage[]
  try {
    messages = readers[dialect](response)
  } catch {
    throw new InvalidInput('response', `must be what the SDK of ${dialect} returned; nothing was recorded`)
  }
  const said = messages.filter(({ parts }) => parts.length > 0)
  if (said.length === 0) throw new InvalidInput('response', 'has no text and no tool call; nothing was recorded')
  return said
}

function checkDialect(dialect: Dialect): void {
  if (!Object.hasOwn(writers, dialect)) throw new InvalidInput('dialect', `must be one of ${dialects.join(', ')}`)
}
