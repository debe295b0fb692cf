/**
 * Stored messages as providers take them: roles that alternate, the first a user's, every tool call followed by its
 * result.
 *
 * A call without a result is told in words, not as a call: providers refuse an open call, and inventing a result for
 * one that is still running would be a lie. A result without its call is told in words too.
 */
import type { Part } from '../events/part.ts'
import type { Message } from '../views/message.ts'
import { fence, oneLine } from './fence.ts'
import type { RequestMessage, RequestPart } from './message.ts'
import { pairedCalls } from './tool-pairs.ts'

export interface TranscriptOptions {
  /** The agent the request is for: its own messages are the assistant's. */
  agentName: string
  /** Makes fences of this session different from those of others. */
  place: string
}

export function transcript(messages: readonly Message[], options: TranscriptOptions): RequestMessage[] {
  const paired = pairedCalls(messages)
  const results = resultsByCall(messages)
  const said: RequestMessage[] = []
  for (const message of messages) {
    const isOwn = message.role === 'assistant' && message.author === options.agentName
    if (isOwn) speakOwn(message, paired, results, said)
    else speakOther(message, paired, options, said)
  }
  return said
}

type Results = Map<string, Extract<Part, { type: 'tool-result' }>>

function resultsByCall(messages: readonly Message[]): Results {
  const results: Results = new Map()
  for (const message of messages) {
    for (const part of message.parts) if (part.type === 'tool-result') results.set(part.callId, part)
  }
  return results
}

/** The agent's own words; each run of calls is followed at once by its results. */
function speakOwn(message: Message, paired: ReadonlySet<string>, results: Results, said: RequestMessage[]): void {
  let answers: RequestPart[] = []
  const settle = () => {
    if (answers.length > 0) add(said, 'user', answers)
    answers = []
  }
  for (const part of message.parts) {
    if (part.type === 'tool-call' && paired.has(part.callId)) {
      add(said, 'assistant', [{ type: 'tool-call', callId: part.callId, name: part.name, input: part.input }])
      answers.push(resultPart(results.get(part.callId)!))
      continue
    }
    const text = ownText(part, paired)
    if (text === undefined) continue
    settle()
    add(said, 'assistant', [{ type: 'text', text }])
  }
  settle()
}

function ownText(part: Part, paired: ReadonlySet<string>): string | undefined {
  switch (part.type) {
    case 'text':
      return part.text === '' ? undefined : part.text
    case 'reasoning':
      return undefined
    case 'file':
      return fileText(part)
    case 'tool-call':
      return `[I called ${oneLine(part.name)} (${oneLine(part.callId)}); no result has come yet.]`
    case 'tool-result':
      return paired.has(part.callId)
        ? undefined
        : `[A result of ${oneLine(part.name ?? part.callId)}, whose call is not shown:]\n${outputText(part)}`
    default:
      return part satisfies never
  }
}

function speakOther(
  message: Message,
  paired: ReadonlySet<string>,
  { agentName, place }: TranscriptOptions,
  said: RequestMessage[],
): void {
  const texts: string[] = []
  for (const part of message.parts) {
    // Results of the agent's own calls stand right behind the calls.
    if (part.type === 'tool-result' && paired.has(part.callId)) continue
    const text = part.type === 'tool-call' ? `[called ${oneLine(part.name)}]` : ownText(part, paired)
    if (text !== undefined) texts.push(text)
  }
  if (texts.length === 0) return
  const text = texts.join('\n\n')
  const isPerson = message.role === 'user' && (message.author === 'user' || !message.agentType)
  const label = labelOf(message, agentName)
  add(said, 'user', [
    {
      type: 'text',
      text: isPerson && label === undefined ? text : fence(text, `${place} ${message.version}`, label ?? 'user'),
    },
  ])
}

/** Who said it, unless it is the one person everybody knows. */
export function labelOf(message: Message, agentName: string): string | undefined {
  if (message.role === 'system') return 'system note'
  if (message.role === 'user' && message.author === 'user') return undefined
  if (message.author === agentName) return `${agentName} (earlier)`
  return message.role === 'assistant' ? `agent ${message.author}` : message.author
}

function resultPart(part: Extract<Part, { type: 'tool-result' }>): RequestPart {
  return {
    type: 'tool-result',
    callId: part.callId,
    ...(part.name !== undefined && { name: part.name }),
    text: outputText(part),
    ...(part.isError && { isError: true }),
  }
}

function outputText(part: Extract<Part, { type: 'tool-result' }>): string {
  return typeof part.output === 'string' ? part.output : JSON.stringify(part.output)
}

function fileText(part: Extract<Part, { type: 'file' }>): string {
  const where = part.path ?? part.url
  const head = `[file ${oneLine(part.name)}${where ? ` at ${oneLine(where, 200)}` : ''}]`
  return part.text === undefined ? head : `${head}\n${part.text}`
}

/** Neighbours of one role become one message: providers want roles to alternate. */
function add(said: RequestMessage[], role: RequestMessage['role'], content: RequestPart[]): void {
  const last = said.at(-1)
  if (last?.role === role) last.content.push(...content)
  else said.push({ role, content: [...content] })
}
