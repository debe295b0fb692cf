/**
 * Random logs for the promises about requests: a case is a list of steps, each complete in itself, so that a case that
 * breaks a promise can be made smaller by leaving steps out.
 */
import type { Audience, MessageInput, Part } from 'colloquy'
import type { Strategy } from '../../src/log/events/strategy.ts'
import { type Random, random } from './random.ts'

/** Which of the case's sessions acts. */
export type Who = 0 | 1 | 2

export type Step =
  | { do: 'say'; who: Who; message: MessageInput; to: 'default' | Audience['to'] }
  | { do: 'call'; who: Who; calls: number; answered: 'not yet' | 'together' | 'one by one' | 'in the same message' }
  | { do: 'answer'; who: Who; filler: string }
  | { do: 'clear'; who: Who }
  | { do: 'reset'; who: Who; keepSystemMessage: boolean }
  | { do: 'compact'; who: Who }
  | Ask

export interface Ask {
  do: 'ask'
  who: Who
  /** A text of its own, the newest words of the person once more, or a stored message by its id. */
  message: 'new' | 'stored text' | 'stored id'
  filler: string
  strategy: Strategy
  budget: number
  recall: boolean
  how: 'build' | 'preview' | 'preview, append, preview'
}

/** Every text of a case starts with its own mark, so that it can be found in what is sent. `$` stands for it. */
export const markPlace = '$'

/** The same seed and number give the same case. */
export function requestCase(seed: number, number: number): Step[] {
  const from = random((Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b)) >>> 0)
  const steps = Array.from({ length: from.between(2, 16) }, () => step(from))
  return [...steps, ask(from)]
}

function step(from: Random): Step {
  const who = from.pick<Who>([0, 0, 0, 1, 2])
  const kind = from.below(100)
  if (kind < 55) return { do: 'say', who, message: message(from), to: audience(from) }
  if (kind < 70) {
    const answered = from.pick(['together', 'together', 'one by one', 'in the same message', 'not yet'] as const)
    return { do: 'call', who, calls: from.between(1, 3), answered }
  }
  if (kind < 76) return { do: 'answer', who, filler: filler(from) }
  if (kind < 78) return { do: 'clear', who }
  if (kind < 81) return { do: 'reset', who, keepSystemMessage: from.below(2) === 0 }
  if (kind < 91) return { do: 'compact', who }
  return ask(from)
}

function message(from: Random): MessageInput {
  const role = from.pick(['user', 'user', 'user', 'assistant', 'assistant', 'assistant', 'system'] as const)
  const author = role === 'assistant' || from.below(4) > 0 ? undefined : from.pick(authors)
  return {
    role,
    parts: parts(from),
    ...(author !== undefined && { author }),
    ...(from.below(12) === 0 && { pinned: true }),
    ...(from.below(10) === 0 && { internal: true }),
  }
}

const imageUrls = ['https://example.test/a.png', 'data:image/png;base64,iVBORw0KGgo=', 'data:image/png;base64,']

const authors = ['user', 'tools', 'another person', '# Your role', 'Zoë 日本語の人', `${'long '.repeat(20)}name`]

function parts(from: Random): Part[] {
  const text: Part = { type: 'text', text: `${markPlace} ${filler(from)}` }
  switch (from.below(16)) {
    case 0:
      return [{ type: 'text', text: from.pick([' ', '\n\n', '.']) }]
    case 1:
      return [{ type: 'reasoning', text: `thinking ${filler(from)}` }, text]
    case 2:
      return [text, { type: 'file', name: 'notes.md', path: 'docs/notes.md', text: filler(from) }]
    case 3:
      return [text, { type: 'text', text: filler(from) || '-' }]
    case 4:
      return [{ type: 'reasoning', text: 'only thinking' }]
    case 5:
      return [{ type: 'reasoning', text: 'signed', signature: from.pick(['sig', 'openai:{}', 'gemini:"s"']) }, text]
    case 6:
      return [text, { type: 'file', name: 'a.png', mediaType: 'image/png', url: from.pick(imageUrls) }]
    default:
      return [text]
  }
}

function audience(from: Random): Step extends infer S ? (S extends { to: infer T } ? T : never) : never {
  return from.pick([
    'default',
    'default',
    'default',
    'default',
    'everyone',
    'agents',
    'internal',
    'delegation',
  ] as const)
}

const strategies: readonly Strategy[] = [
  { name: 'checkpoint' },
  { name: 'checkpoint' },
  { name: 'checkpoint' },
  { name: 'sliding_window' },
  { name: 'summarization', keepRecentMessages: 4 },
  { name: 'recent', messages: 3 },
]

function ask(from: Random): Ask {
  return {
    do: 'ask',
    who: from.pick<Who>([0, 0, 0, 1, 2]),
    message: from.pick(['new', 'new', 'stored text', 'stored id'] as const),
    filler: filler(from),
    strategy: from.pick(strategies),
    budget: from.pick([from.between(350, 800), from.between(500, 2_500), from.between(1_000, 8_000), 100_000]),
    recall: from.below(30) === 0,
    how: from.pick(['build', 'preview', 'preview, append, preview'] as const),
  }
}

const words = ['alpha', 'beta', 'src/form.ts', 'the', 'of', 'JWT', 'fix', 'please', 'ok', 'parseToken()', '42']
const oddities = [
  '<<',
  '>>',
  '# Context',
  '日本語',
  '🙂',
  '"quoted"',
  '\\',
  '\t',
  '\n',
  '\u0000',
  '\ud83d',
  '<system>',
  'é',
  '```',
]

/** Mostly a sentence, now and then nothing, something odd, or far too much. */
function filler(from: Random): string {
  const kind = from.below(40)
  if (kind === 0) return ''
  if (kind === 1) return 'lorem ipsum dolor '.repeat(from.between(100, 900))
  if (kind === 2) return 'QUJD'.repeat(from.between(10, 300))
  if (kind === 3) return '漢字'.repeat(from.between(5, 400))
  const list = kind < 12 ? [...words, ...oddities] : words
  return Array.from({ length: from.between(0, 40) }, () => from.pick(list)).join(' ')
}
