/**
 * Two renderings of one packed request: messages with roles for a Messages API, or a system and a user prompt.
 *
 * Stable sections come first and volatile ones after the history, so that prompt caches hit. The same sections give
 * the same bytes.
 */
import type { Message } from '../../log/views/message.ts'
import { partsText } from '../text/part-text.ts'
import type { RequestMessage, RequestPart } from '../text/provider-message.ts'
import { fence } from '../text/quote-untrusted.ts'
import { firstTold, isEmpty } from './catch-up.ts'
import type { Packed } from './pack.ts'
import { lined, type Piece, paragraphs, piece, textOf, titled } from './pieces.ts'
import type { Quote, SectionName } from './sections.ts'
import { type TranscriptOptions, transcript } from './transcript.ts'

/** A part of a message as it is sent, and the pieces its text is made of. */
interface ExplainedPart {
  type: RequestPart['type']
  pieces: Piece[]
}

/** Both renderings in pieces, for those who want to know where each word of a request comes from. */
export interface ExplainedRequest {
  system: Piece[]
  messages: Array<{ role: RequestMessage['role']; parts: ExplainedPart[] }>
  systemPrompt: Piece[]
  userPrompt: Piece[]
}

/** For a Messages API: a system text, then messages whose last is the user's. */
export function renderMessages(
  packed: Packed,
  options: TranscriptOptions,
): { system: string; messages: RequestMessage[] } {
  return { system: textOf(systemPieces(packed, options)), messages: messagesOf(packed, options) }
}

/** Renders everything but the message as the system prompt, and the message alone as the user prompt. */
export function renderPrompt(packed: Packed, options: TranscriptOptions): { systemPrompt: string; userPrompt: string } {
  return { systemPrompt: textOf(promptPieces(packed, options)), userPrompt: triggerText(packed, options) }
}

export function explainRequest(packed: Packed, options: TranscriptOptions): ExplainedRequest {
  const origins = new Map<RequestPart, Piece[]>()
  const from = new Map<RequestPart, Message>()
  const messages = messagesOf(packed, { ...options, from }, origins)
  const trigger = packed.trigger.message?.version
  const piecesOf = (part: RequestPart): Piece[] => {
    const said = from.get(part)
    const what = said !== undefined && said.version === trigger ? 'message' : 'history'
    return origins.get(part) ?? [{ what, ...(said && { versions: [said.version] }), text: partText(part) }]
  }
  return {
    system: systemPieces(packed, options),
    messages: messages.map(({ role, content }) => ({
      role,
      parts: content.map(part => ({ type: part.type, pieces: piecesOf(part) })),
    })),
    systemPrompt: promptPieces(packed, options),
    userPrompt: triggerPieces(packed, options),
  }
}

function partText(part: RequestPart): string {
  if (part.type === 'image') return part.name
  return part.type === 'tool-call' ? `${part.name} ${JSON.stringify(part.input)}` : part.text
}

function systemPieces(packed: Packed, options: TranscriptOptions): Piece[] {
  return paragraphs([
    piece('description', packed.description.text),
    titled('Context', piece('context', packed.context.text)),
    piece('checkpoint', packed.checkpoint?.text ?? ''),
    pinnedPieces(packed.pinned, options),
  ])
}

function promptPieces(packed: Packed, options: TranscriptOptions): Piece[] {
  return paragraphs([
    titled('Your role', piece('description', packed.description.text)),
    titled('Context', piece('context', packed.context.text)),
    piece('checkpoint', packed.checkpoint?.text ?? ''),
    pinnedPieces(packed.pinned, options),
    titled(
      'Recent conversation',
      paragraphs([
        piece('notice', noticeOf(packed)),
        conversation('history', [...packed.standing, ...packed.history], options),
      ]),
    ),
    behindHistory(packed, options),
  ])
}

/** `origins` takes in what the parts that are no message's own are made of. */
function messagesOf(packed: Packed, options: TranscriptOptions, origins?: Map<RequestPart, Piece[]>): RequestMessage[] {
  const { message: whole } = packed.trigger
  const history = [...packed.standing, ...packed.history]
  const messages = transcript(whole ? [...history, whole] : history, {
    ...options,
    goesOn: whole !== undefined,
  })
  const notice = noticeOf(packed)
  if (notice !== '' || messages[0]?.role === 'assistant') {
    const opening = { type: 'text' as const, text: notice || '[The conversation goes on from here.]' }
    origins?.set(opening, piece('notice', opening.text))
    if (messages[0]?.role === 'user') messages[0].content.unshift(opening)
    else messages.unshift({ role: 'user', content: [opening] })
  }
  // Results stand right behind their calls, so what else there is to say comes after them.
  const behind = [behindHistory(packed, options), whole ? [] : triggerPieces(packed, options)]
  const content: RequestPart[] = behind
    .filter(pieces => pieces.length > 0)
    .map(pieces => {
      const part = { type: 'text' as const, text: textOf(pieces) }
      origins?.set(part, pieces)
      return part
    })
  for (const image of packed.trigger.images ?? []) {
    origins?.set(image, piece('message', image.name, packed.trigger.version))
    content.push(image)
  }
  const previous = messages.at(-1)
  if (previous?.role === 'user') previous.content.push(...content)
  else if (content.length > 0) messages.push({ role: 'user', content })
  return messages
}

function conversation(what: SectionName, messages: readonly Message[], options: TranscriptOptions): Piece[] {
  return lined(messages.map(message => piece(what, written(message, options), message.version)))
}

/** One message as text, in a fence its content cannot close. */
function written(message: Message, { place }: TranscriptOptions): string {
  const text = partsText(message.parts)
  return fence(text, `${place} ${message.version}`, `${message.version} ${message.role} ${message.author}`)
}

function pinnedPieces(pinned: readonly Message[], options: TranscriptOptions): Piece[] {
  return titled('Pinned messages', conversation('pinned', pinned, options))
}

function noticeOf({ omitted, checkpoint }: Packed): string {
  if (omitted.messages > 0) {
    return `[${omitted.messages} older messages are left out to stay inside the token budget; the log keeps them, recall finds them.]`
  }
  return checkpoint ? '[Earlier messages are summarised in the checkpoint.]' : ''
}

/** The user's words as they are; other authors' words in a fence with their name. */
function triggerText({ trigger }: Packed, { place }: TranscriptOptions): string {
  return trigger.label === undefined ? trigger.text : fence(trigger.text, `${place} trigger`, trigger.label)
}

function triggerPieces(packed: Packed, options: TranscriptOptions): Piece[] {
  return piece('message', triggerText(packed, options), packed.trigger.version)
}

function catchUpPieces({ catchUp, trigger }: Packed, options: TranscriptOptions): Piece[] {
  if (!catchUp) return []
  const { messages, omitted, since, handOff } = catchUp
  if (isEmpty(catchUp)) return []
  const before = firstTold(catchUp, trigger)
  const left =
    omitted.messages === 0
      ? ''
      : `[${omitted.messages} earlier messages are left out here; read them in the log, from version ${since + 1}${before === undefined ? '' : ` to ${before - 1}`}.]`
  return titled(
    'Messages while you were away',
    paragraphs([
      piece('catch-up', handOff ? fence(handOff.text, `${options.place} hand-off`, handOff.label) : ''),
      piece('catch-up', left),
      conversation('catch-up', messages, options),
    ]),
  )
}

function behindHistory(packed: Packed, options: TranscriptOptions): Piece[] {
  const quotes = packed.recall.map(quote => piece('recall', quoted(quote, options), quote.version))
  return paragraphs([
    titled('State', piece('state', packed.state.text)),
    titled('Now', piece('changes', packed.changes.text)),
    titled('Earlier messages that may matter', lined(quotes)),
    catchUpPieces(packed, options),
  ])
}

function quoted(quote: Quote, { place }: TranscriptOptions): string {
  return fence(quote.text, `${place} recall ${quote.version}`, `${quote.version} ${quote.author}`)
}
