/**
 * References in a message: nostr entities, other conversations, files of the project.
 *
 * | written | refers to |
 * |---|---|
 * | `nostr:nevent1…`, or the entity alone (nevent, note, naddr, nprofile, npub) | an entity, if its checksum is right |
 * | `conversation:ID`, `conversation:"any id"` | another conversation |
 * | `file:src/form.ts`, `file:"any path"` | a file |
 * | a file part with a path and no text | a file |
 *
 * Ids and paths with other characters than usual stand in double quotes, escaped as in JSON. What stands in code, in a
 * fence or between backticks, is quoted and refers to nothing. Every step is bounded, so that the time depends on the length
 * of the text alone.
 */
import { idProblem } from '../../log/events/id.ts'
import type { Part } from '../../log/events/part.ts'
import type { Reference } from '../../log/events/reference.ts'
import { isBech32 } from '../text/bech32.ts'

/** References behind this many characters are not found. */
export const longestSearched = 100_000
const longestPath = 4096
/** Max references of one message. */
export const mostPerMessage = 50

/** The references of a message, each once, in the order they stand there. */
export function findReferences(parts: readonly Part[]): Reference[] {
  const found = new Map<string, Reference>()
  const add = (reference: Reference) => {
    const key = referenceText(reference)
    if (!found.has(key) && found.size < mostPerMessage) found.set(key, reference)
  }
  let left = longestSearched
  for (const part of parts) {
    if (part.type === 'file' && part.path !== undefined && part.text === undefined && isPath(part.path)) {
      add({ kind: 'file', target: part.path })
    }
    if (part.type !== 'text' || left <= 0) continue
    for (const reference of referencesIn(part.text.slice(0, left))) add(reference)
    left -= part.text.length
  }
  return [...found.values()]
}

/** A reference as it can be written in a message. */
export function referenceText({ kind, target }: Reference): string {
  if (kind === 'nostr' || bare[kind]?.test(target)) return `${kind}:${target}`
  return `${kind}:${JSON.stringify(target)}`
}

/** Whole targets that need no quotes. */
const bare: Readonly<Record<string, RegExp>> = {
  conversation: /^[\p{L}\p{N}_-](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?$/u,
  file: /^(?!\/\/)(?=.*[./])[\p{L}\p{N}_.~@+/-]*[\p{L}\p{N}_~@+/-]$/u,
}

const quoted = String.raw`"((?:[^"\\\n]|\\.){1,1200})"`
const word = String.raw`(?<![\p{L}\p{N}_])`

const entities = new RegExp(
  String.raw`${word}(?:nostr:)?((?:nevent|note|naddr|nprofile|npub)1[02-9ac-hj-np-z]{6,2000})(?![\p{L}\p{N}_])`,
  'giu',
)
const named = new RegExp(
  String.raw`${word}(conversation|file):(?:${quoted}|([\p{L}\p{N}_.~@+/-]{1,${longestPath}}))`,
  'gu',
)

function referencesIn(text: string): Reference[] {
  // Most messages have no reference, and this test is the fastest.
  if (!/n(?:event|ote|addr|profile|pub)1|conversation:|file:/i.test(text)) return []
  const said = withoutCode(text)
  const found: Array<Reference & { at: number }> = []
  for (const { 1: entity = '', index: at } of said.matchAll(entities)) {
    if (isBech32(entity)) found.push({ kind: 'nostr', target: entity.toLowerCase(), at })
  }
  for (const { 1: kind = '', 2: escaped, 3: plain, index: at } of said.matchAll(named)) {
    const target = escaped === undefined ? plainTarget(kind, plain ?? '') : unescaped(escaped)
    if (target === undefined) continue
    if (kind === 'file' ? isPath(target) : idProblem(target) === undefined) found.push({ kind, target, at })
  }
  return found.sort((a, b) => a.at - b.at).map(({ kind, target }) => ({ kind, target }))
}

/** Without the full stop that ends the sentence. A path has a dot or a slash in it: "file:line" is none. */
function plainTarget(kind: string, written: string): string | undefined {
  // Longer than any path: what was found is not all of it.
  if (written.length >= longestPath) return undefined
  let end = written.length
  while (end > 0 && written[end - 1] === '.') end--
  const target = written.slice(0, end)
  return bare[kind]?.test(target) ? target : undefined
}

function unescaped(inner: string): string | undefined {
  try {
    return JSON.parse(`"${inner}"`)
  } catch {
    return undefined
  }
}

function isPath(path: string): boolean {
  return path !== '' && path.length <= longestPath && !path.includes('\0') && path.isWellFormed()
}

/** The text with blanks where code stands: what is behind it keeps its place. */
function withoutCode(text: string): string {
  if (!text.includes('`') && !text.includes('~~~')) return text
  let fence: string | undefined
  return text
    .split('\n')
    .map(line => {
      const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
      if (fence !== undefined) {
        if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined
        return blanks(line)
      }
      if (mark === undefined) return withoutSpans(line)
      fence = mark
      return blanks(line)
    })
    .join('\n')
}

/** As Markdown has it: a run of backticks opens a span that the next run of the same length closes. */
function withoutSpans(line: string): string {
  const runs = [...line.matchAll(/`+/g)].map(({ 0: { length }, index }) => ({ index, length }))
  const nextOfLength = new Map<number, number>()
  const closedBy = new Array<number | undefined>(runs.length)
  for (let i = runs.length - 1; i >= 0; i--) {
    closedBy[i] = nextOfLength.get(runs[i]!.length)
    nextOfLength.set(runs[i]!.length, i)
  }
  let kept = ''
  let from = 0
  for (let i = 0; i < runs.length; i++) {
    const close = closedBy[i]
    if (close === undefined) continue
    const { index, length } = runs[close]!
    kept += line.slice(from, runs[i]!.index) + blanks(line.slice(runs[i]!.index, index + length))
    from = index + length
    i = close
  }
  return kept + line.slice(from)
}

function blanks(text: string): string {
  return ' '.repeat(text.length)
}
