/**
 * Removes secrets of known formats from a message before it is counted, hashed and stored, where a project enables it.
 *
 * Linear in the text: a pattern matches only at the start of a run of its letters, so no text is scanned twice.
 */
import type { Redaction } from '../events/message.ts'
import type { Part } from '../events/part.ts'
import type { CheckedMessage } from './message.ts'

const patterns: ReadonlyArray<readonly [kind: string, pattern: RegExp]> = [
  ['anthropic-key', /(?<![\w-])sk-ant-[\w-]{20,}/g],
  ['openai-key', /(?<![\w-])sk-[\w-]{20,}/g],
  ['github-token', /(?<![\w-])(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})/g],
  ['aws-key', /(?<![\w-])(?:AKIA|ASIA)[0-9A-Z]{16}(?![\w-])/g],
  ['google-key', /(?<![\w-])AIza[\w-]{35}(?![\w-])/g],
  ['slack-token', /(?<![\w-])xox[abeprs]-[\w-]{10,}/g],
  ['colloquy-token', /(?<![\w-])clq_[\w-]{43}(?![\w-])/g],
  ['json-web-token', /(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g],
]

/** Returns the message without its secrets, and how many of each kind were removed. */
export function redactMessage(message: CheckedMessage): CheckedMessage {
  const counts = new Map<string, number>()
  const clean = (value: unknown) => cleanValue(value, counts)
  const parts = message.parts.map(part => clean(part) as Part)
  const { metadata, envelope } = message
  const redacted: CheckedMessage = {
    ...message,
    parts,
    ...(metadata && { metadata: clean(metadata) as Record<string, unknown> }),
    ...(envelope !== undefined && { envelope: clean(envelope) }),
  }
  if (counts.size === 0) return message
  return { ...redacted, redacted: [...counts].map(([kind, count]): Redaction => ({ kind, count })) }
}

function cleanValue(value: unknown, counts: Map<string, number>): unknown {
  if (typeof value === 'string') return cleanText(value, counts)
  if (Array.isArray(value)) return value.map(item => cleanValue(item, counts))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cleanValue(item, counts)]))
}

function cleanText(text: string, counts: Map<string, number>): string {
  let clean = withoutPrivateKeys(text, counts)
  for (const [kind, pattern] of patterns) {
    clean = clean.replace(pattern, () => {
      counts.set(kind, (counts.get(kind) ?? 0) + 1)
      return `[redacted ${kind}]`
    })
  }
  return clean
}

const begin = /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----/g
const end = '-----END '

function withoutPrivateKeys(text: string, counts: Map<string, number>): string {
  if (!text.includes('PRIVATE KEY-----')) return text
  let clean = ''
  let from = 0
  begin.lastIndex = 0
  for (let match = begin.exec(text); match; match = begin.exec(text)) {
    if (match.index < from) continue
    const closing = text.indexOf(end, begin.lastIndex)
    // A key without its end is removed, too.
    const after = closing < 0 ? text.length : endOf(text, closing)
    clean += `${text.slice(from, match.index)}[redacted private-key]`
    counts.set('private-key', (counts.get('private-key') ?? 0) + 1)
    from = after
    begin.lastIndex = after
  }
  return clean + text.slice(from)
}

function endOf(text: string, closing: number): number {
  const dashes = text.indexOf('-----', closing + end.length)
  return dashes < 0 || dashes - closing > 60 ? closing + end.length : dashes + 5
}
