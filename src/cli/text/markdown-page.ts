/**
 * A conversation as a page of Markdown.
 *
 * Messages are block quotes. In a quote no text can pass for a heading of ours, and an open code fence ends with it.
 */
import type { Colloquy, Conversation, RecordedEvent } from '../../index.ts'
import { eventPages } from '../commands/log.ts'
import { safeLine, safeText } from '../terminal/safe-text.ts'
import { eventName, summaryOf } from './event-line.ts'
import { workItemText } from './format.ts'
import { foldedPart, whoToWhom } from './messages.ts'

export async function* markdownOf(colloquy: Colloquy, conversation: Conversation): AsyncGenerator<string> {
  const { id, title, project, status, workItem, createdAt, version } = conversation
  yield `# ${inline(title)}`
  yield ''
  yield `- Conversation ${inline(id)} of project ${inline(project)}, ${status}`
  yield `- About ${inline(workItemText(workItem))}`
  yield `- Created ${createdAt}, ${version} events`
  for await (const page of eventPages(colloquy, id)) {
    for (const recorded of page) yield* section(recorded)
  }
}

function* section(recorded: RecordedEvent): Generator<string> {
  const { version, at, event } = recorded
  yield ''
  if (event.type !== 'message.added') {
    yield `*${version} · ${at} · ${inline(eventName(event))} · ${inline(plain(summaryOf(event)))}*`
    return
  }
  const role = event.author === event.role ? '' : ` · ${event.role}`
  yield `## ${version} · ${inline(whoToWhom(event))}${role} · ${at}${event.internal ? ' · internal' : ''}`
  for (const part of event.parts) {
    yield ''
    if (part.type === 'text') yield* quoted(part.text)
    else yield `> \`${foldedPart(part).replaceAll('`', "'")}\``
  }
}

function quoted(text: string): string[] {
  return safeText(text)
    .trimEnd()
    .split('\n')
    .map(line => (line === '' ? '>' : `> ${line}`))
}

/** Text in a line of ours: its own marks must not format it. */
function inline(text: string): string {
  return safeLine(text).replace(/[\\`*_[\]<>#|]/g, '\\$&')
}

/** Summaries may be coloured for a terminal; a page is not. */
function plain(text: string): string {
  return text.replace(/\u001b\[\d+m/g, '')
}
