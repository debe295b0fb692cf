/**
 * Stored messages as providers take them: roles that alternate, the first a user's, every tool call followed by its
 * result.
 *
 * A call without a result is told in words, not as a call: providers refuse an open call, and inventing a result for
 * one that is still running would be a lie. A result without its call is told in words too.
 */
import type { Part } from '../../log/events/part.ts'
import type { Message } from '../../log/views/message.ts'
import { imagesIn } from '../text/images.ts'
import { fileText } from '../text/part-text.ts'
import type { RequestMessage, RequestPart } from '../text/provider-message.ts'
import { fence, oneLine } from '../text/quote-untrusted.ts'

export interface TranscriptOptions {
  /** The agent the request is for: its own messages are the assistant's. */
  agentName: string
  /** Makes fences of this session different from those of others. */
  place: string
  /** The agent is at work on a turn: what it thought in it goes back to it. */
  goesOn?: boolean
  /** Takes in which message each part was made from. */
  from?: Map<RequestPart, Message>
}

export function transcript(messages: readonly Message[], options: TranscriptOptions): RequestMessage[] {
  const pairs = ownPairs(messages, options.agentName)
  const said: RequestMessage[] = []
  const turn = options.goesOn ? currentTurn(messages, pairs, options.agentName) : messages.length
  for (const [index, message] of messages.entries()) {
    if (isOwn(message, options.agentName)) {
      speakOwn(message, pairs, said, { isCurrent: index >= turn, from: options.from })
    } else speakOther(message, pairs, options, said)
  }
  return said
}

function isOwn({ role, author }: Message, agentName: string): boolean {
  return role === 'assistant' && author === agentName
}

/** The start of the open turn: behind the last message of another author. */
function currentTurn(messages: readonly Message[], { placed }: Pairs, agentName: string): number {
  const said = (message: Message) => !isOwn(message, agentName) && message.parts.some(part => !placed.has(part))
  return messages.findLastIndex(said) + 1
}

type Call = Extract<Part, { type: 'tool-call' }>
type Result = Extract<Part, { type: 'tool-result' }>

interface Pairs {
  resultOf: ReadonlyMap<Call, Result>
  /** Results that stand right behind their calls, wherever they came. */
  placed: ReadonlySet<Part>
}

/**
 * The agent's own calls with the first result that came after each. By the part and not by its id alone: some providers
 * use an id again in the next turn, and a call that runs must not get the result of its namesake.
 */
function ownPairs(messages: readonly Message[], agentName: string): Pairs {
  const open = new Map<string, Call>()
  const resultOf = new Map<Call, Result>()
  const placed = new Set<Part>()
  for (const message of messages) {
    for (const part of message.parts) {
      if (part.type === 'tool-call') {
        if (isOwn(message, agentName)) open.set(part.callId, part)
        else open.delete(part.callId)
      }
      if (part.type !== 'tool-result') continue
      const call = open.get(part.callId)
      if (!call) continue
      open.delete(part.callId)
      resultOf.set(call, part)
      placed.add(part)
    }
  }
  return { resultOf, placed }
}

/** The agent's own words; each run of calls is followed at once by its results. */
function speakOwn(
  message: Message,
  { resultOf, placed }: Pairs,
  said: RequestMessage[],
  { isCurrent, from }: { isCurrent: boolean; from: TranscriptOptions['from'] },
): void {
  let answers: RequestPart[] = []
  const say = (role: RequestMessage['role'], content: RequestPart[]) => {
    for (const part of content) from?.set(part, message)
    add(said, role, content)
  }
  const settle = () => {
    if (answers.length > 0) say('user', answers)
    answers = []
  }
  for (const part of message.parts) {
    const result = part.type === 'tool-call' ? resultOf.get(part) : undefined
    if (part.type === 'tool-call' && result) {
      say('assistant', [{ type: 'tool-call', callId: part.callId, name: part.name, input: part.input }])
      answers.push(resultPart(result))
      continue
    }
    // Signed or not: which of it goes back, each provider's dialect knows.
    if (part.type === 'reasoning' && isCurrent && (part.signature !== undefined || part.text !== '')) {
      settle()
      const { text, signature } = part
      say('assistant', [{ type: 'reasoning', text, ...(signature !== undefined && { signature }) }])
      continue
    }
    const text = placed.has(part) ? undefined : ownText(part)
    if (text === undefined) continue
    settle()
    say('assistant', [{ type: 'text', text }])
  }
  settle()
}

function ownText(part: Part): string | undefined {
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
      return `[A result of ${oneLine(part.name ?? part.callId)}, whose call is not shown:]\n${outputText(part)}`
    default:
      return part satisfies never
  }
}

/** Calls and results of others become words, because a provider takes calls only from the agent itself. */
function othersText(part: Part): string | undefined {
  if (part.type === 'tool-call') return `[called ${oneLine(part.name)} ${JSON.stringify(part.input)}]`
  if (part.type === 'tool-result') return `[result of ${oneLine(part.name ?? part.callId)}]\n${outputText(part)}`
  return ownText(part)
}

function speakOther(
  message: Message,
  { placed }: Pairs,
  { agentName, place, from }: TranscriptOptions,
  said: RequestMessage[],
): void {
  const texts: string[] = []
  for (const part of message.parts) {
    // Results of the agent's own calls stand right behind the calls.
    const text = placed.has(part) ? undefined : othersText(part)
    if (text !== undefined) texts.push(text)
  }
  if (texts.length === 0) return
  const text = texts.join('\n\n')
  const isPerson = message.role === 'user' && (message.author === 'user' || !message.agentType)
  const label = labelOf(message, agentName)
  const part: RequestPart = {
    type: 'text',
    text: isPerson && label === undefined ? text : fence(text, `${place} ${message.version}`, label ?? 'user'),
  }
  const content = [part, ...imagesIn(message.parts)]
  for (const one of content) from?.set(one, message)
  add(said, 'user', content)
}

/** The label for a message's author. Undefined for the user. */
export function labelOf(message: Message, agentName: string): string | undefined {
  if (message.resolves) return `content referred to in message ${message.resolves.of}`
  if (message.role === 'system') return 'system note'
  if (message.role === 'user' && message.author === 'user') return undefined
  if (message.author === agentName) return `${agentName} (earlier)`
  return message.role === 'assistant' ? `agent ${message.author}` : message.author
}

function resultPart(part: Result): RequestPart {
  return {
    type: 'tool-result',
    callId: part.callId,
    ...(part.name !== undefined && { name: part.name }),
    text: outputText(part),
    ...(part.isError && { isError: true }),
  }
}

function outputText(part: Result): string {
  return typeof part.output === 'string' ? part.output : JSON.stringify(part.output)
}

/** Neighbours of one role become one message: providers want roles to alternate. */
function add(said: RequestMessage[], role: RequestMessage['role'], content: RequestPart[]): void {
  const last = said.at(-1)
  if (last?.role === role) last.content.push(...content)
  else said.push({ role, content: [...content] })
}
