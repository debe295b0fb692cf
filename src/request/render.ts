/**
 * Two renderings of one packed request: real roles for a Messages API, and the seeds' two prompts.
 *
 * What seldom changes comes first and what changes often comes after the history, so that prompt caches hit. The same
 * material gives the same bytes.
 */
import type { Message } from '../views/message.ts'
import { firstTold, isEmpty } from './catch-up.ts'
import { fence } from './fence.ts'
import type { RequestMessage } from './message.ts'
import type { Packed } from './pack.ts'
import { partsText } from './part-text.ts'
import type { Quote } from './sections.ts'
import { type TranscriptOptions, transcript } from './transcript.ts'

/** For a Messages API: a system text, then messages whose last is the user's. */
export function renderMessages(
  packed: Packed,
  options: TranscriptOptions,
): { system: string; messages: RequestMessage[] } {
  const system = paragraphs([
    packed.description.text,
    titled('Context', packed.context.text),
    packed.checkpoint?.text ?? '',
    pinnedText(packed.pinned, options),
  ])
  const { message: whole } = packed.trigger
  const messages = transcript(whole ? [...packed.history, whole] : packed.history, {
    ...options,
    goesOn: whole !== undefined,
  })
  const notice = noticeOf(packed)
  if (notice !== '' || messages[0]?.role === 'assistant') {
    const opening = { type: 'text' as const, text: notice || '[The conversation goes on from here.]' }
    if (messages[0]?.role === 'user') messages[0].content.unshift(opening)
    else messages.unshift({ role: 'user', content: [opening] })
  }
  const after = behindHistory(packed, options)
  // Results stand right behind their calls, so what else there is to say comes after them.
  const texts = [after, whole ? '' : triggerText(packed, options)].filter(one => one !== '')
  const content = texts.map(one => ({ type: 'text' as const, text: one }))
  const previous = messages.at(-1)
  if (previous?.role === 'user') previous.content.push(...content)
  else if (content.length > 0) messages.push({ role: 'user', content })
  return { system, messages }
}

/** Seeds 001 and 002: everything but the message in the system prompt, the message alone in the user prompt. */
export function renderPrompt(packed: Packed, options: TranscriptOptions): { systemPrompt: string; userPrompt: string } {
  const systemPrompt = paragraphs([
    titled('Your role', packed.description.text),
    titled('Context', packed.context.text),
    packed.checkpoint?.text ?? '',
    pinnedText(packed.pinned, options),
    titled('Recent conversation', paragraphs([noticeOf(packed), conversation(packed.history, options)])),
    behindHistory(packed, options),
  ])
  return { systemPrompt, userPrompt: triggerText(packed, options) }
}

function conversation(history: readonly Message[], options: TranscriptOptions): string {
  return history.map(message => written(message, options)).join('\n')
}

/** One message as text, in a fence its content cannot close. */
function written(message: Message, { place }: TranscriptOptions): string {
  const text = partsText(message.parts)
  return fence(text, `${place} ${message.version}`, `${message.version} ${message.role} ${message.author}`)
}

function pinnedText(pinned: readonly Message[], options: TranscriptOptions): string {
  return titled('Pinned messages', conversation(pinned, options))
}

function noticeOf({ omitted, checkpoint }: Packed): string {
  if (omitted.messages > 0) {
    return `[${omitted.messages} older messages are left out to stay inside the token budget; the log keeps them, recall finds them.]`
  }
  return checkpoint ? '[Earlier messages are summarised in the checkpoint.]' : ''
}

/** The person's words as they are; anybody else's with their name. */
function triggerText({ trigger }: Packed, { place }: TranscriptOptions): string {
  return trigger.label === undefined ? trigger.text : fence(trigger.text, `${place} trigger`, trigger.label)
}

function catchUpText({ catchUp, trigger }: Packed, options: TranscriptOptions): string {
  if (!catchUp) return ''
  const { messages, omitted, since, handOff } = catchUp
  if (isEmpty(catchUp)) return ''
  const before = firstTold(catchUp, trigger)
  const left =
    omitted.messages === 0
      ? ''
      : `[${omitted.messages} earlier messages are left out here; read them in the log, from version ${since + 1}${before === undefined ? '' : ` to ${before - 1}`}.]`
  return titled(
    'Messages while you were away',
    paragraphs([
      handOff ? fence(handOff.text, `${options.place} hand-off`, handOff.label) : '',
      left,
      messages.map(message => written(message, options)).join('\n'),
    ]),
  )
}

function behindHistory(packed: Packed, options: TranscriptOptions): string {
  return paragraphs([
    titled('State', packed.state.text),
    titled('Now', packed.changes.text),
    titled('Earlier messages that may matter', packed.recall.map(quote => quoted(quote, options)).join('\n')),
    catchUpText(packed, options),
  ])
}

function quoted(quote: Quote, { place }: TranscriptOptions): string {
  return fence(quote.text, `${place} recall ${quote.version}`, `${quote.version} ${quote.author}`)
}

function titled(title: string, text: string): string {
  return text === '' ? '' : `# ${title}\n\n${text}`
}

function paragraphs(pieces: readonly string[]): string {
  return pieces.filter(piece => piece !== '').join('\n\n')
}
