/** Google's Gemini API: `ai.models.generateContent({ model, ...requestFor(request, 'gemini') })`. */
import type { Part } from '../../log/events/part.ts'
import { type AnswerMessage, usageOf } from './answer.ts'
import { type CleanMessage, cleanMessages } from './clean.ts'
import { imageSource } from './images.ts'
import type { PlainRequest, RequestForOptions } from './request-form.ts'
import { sealed, unsealed } from './signature.ts'
import { plainCallId, wireToolName } from './wire-names.ts'

type GeminiPart = (
  | { text: string }
  | { inlineData: { mimeType: string; data: string } }
  | { functionCall: { name: string; args: Record<string, unknown> } }
  | { functionResponse: { name: string; response: Record<string, unknown> } }
) & { thoughtSignature?: string }

export interface GeminiRequest {
  contents: Array<{ role: 'user' | 'model'; parts: GeminiPart[] }>
  config: {
    systemInstruction?: string
    tools?: Array<{
      functionDeclarations: Array<{ name: string; description: string; parametersJsonSchema: unknown }>
    }>
  }
}

export function geminiRequest(request: PlainRequest, { tools = [] }: RequestForOptions): GeminiRequest {
  const systemInstruction = request.system.toWellFormed()
  return {
    contents: cleanMessages(request.messages, plainCallId).flatMap(contentOf),
    config: {
      ...(systemInstruction.trim() !== '' && { systemInstruction }),
      ...(tools.length > 0 && {
        tools: [
          {
            functionDeclarations: tools.map(({ name, description, inputSchema }) => ({
              name: wireToolName(name),
              description,
              parametersJsonSchema: inputSchema,
            })),
          },
        ],
      }),
    },
  }
}

/** Calls and responses are matched by name and order, so ids of other providers stay out. */
function contentOf({ role, content }: CleanMessage): GeminiRequest['contents'] {
  const parts: GeminiPart[] = []
  let thoughtSignature: string | undefined
  const add = (part: GeminiPart) => {
    parts.push(thoughtSignature === undefined ? part : { ...part, thoughtSignature })
    thoughtSignature = undefined
  }
  for (const part of content) {
    // A signature belongs to the part behind the reasoning.
    if (part.type === 'reasoning') {
      const signature = unsealed('gemini', part.signature)
      if (typeof signature === 'string') thoughtSignature = signature
    } else if (part.type === 'text') add({ text: part.text })
    else if (part.type === 'tool-call') add({ functionCall: { name: part.name, args: part.input } })
    else if (part.type === 'tool-result') {
      const response = part.isError ? { error: part.text } : { output: part.text }
      add({ functionResponse: { name: part.name, response } })
    } else {
      // An address would have to be uploaded first; the text next to it names it.
      const source = imageSource(part)
      if (source?.type === 'base64') add({ inlineData: { mimeType: source.mediaType, data: source.data } })
    }
  }
  return parts.length === 0 ? [] : [{ role: role === 'user' ? 'user' : 'model', parts }]
}

/** The part of `GenerateContentResponse` that is read. */
export interface GeminiResponse {
  candidates?: ReadonlyArray<{
    finishReason?: string | undefined
    content?: { parts?: readonly ResponsePart[] | undefined } | undefined
  }>
  modelVersion?: string | undefined
  responseId?: string | undefined
  usageMetadata?: {
    promptTokenCount?: number
    cachedContentTokenCount?: number
    candidatesTokenCount?: number
    thoughtsTokenCount?: number
  }
}

interface ResponsePart {
  text?: string
  thought?: boolean
  thoughtSignature?: string
  functionCall?: { id?: string; name?: string; args?: Record<string, unknown> }
}

/** Gemini gives its calls no ids, so they are numbered under the id of the response. */
export function readGemini(response: GeminiResponse): AnswerMessage[] {
  const { candidates = [], modelVersion, usageMetadata: usage, responseId = 'gemini' } = response
  const [candidate] = candidates
  if (!candidate) return []
  let calls = 0
  const parts = (candidate.content?.parts ?? []).flatMap((part): Part[] => {
    const { text, thought, thoughtSignature, functionCall } = part
    if (thought) return [{ type: 'reasoning', text: text ?? '' }]
    const signed: Part[] =
      thoughtSignature === undefined
        ? []
        : [{ type: 'reasoning', text: '', signature: sealed('gemini', thoughtSignature) }]
    if (functionCall) {
      const callId = functionCall.id ?? `${responseId}-${++calls}`
      return [
        ...signed,
        { type: 'tool-call', callId, name: functionCall.name ?? 'unknown', input: functionCall.args ?? {} },
      ]
    }
    return text ? [...signed, { type: 'text', text }] : signed
  })
  const cacheRead = usage?.cachedContentTokenCount ?? 0
  const reasoning = usage?.thoughtsTokenCount ?? 0
  const counted = usageOf({
    input: usage && (usage.promptTokenCount ?? 0) - cacheRead,
    output: (usage?.candidatesTokenCount ?? 0) + reasoning,
    cacheRead,
    reasoning,
  })
  return [
    {
      role: 'assistant',
      parts,
      ...(counted && { usage: counted }),
      ...(modelVersion !== undefined && { model: modelVersion }),
      ...(candidate.finishReason && { stopReason: candidate.finishReason }),
    },
  ]
}
