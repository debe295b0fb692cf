/**
 * Parses inline Markdown: emphasis, code, links.
 *
 * Content is untrusted, so time is bounded: nesting has a maximum depth, and a marker without an end is not searched
 * for twice.
 */
import type { Inline } from './tree.ts'

const deepest = 6
const special = /[\\`*_~[\]!<\nhw]/g
const address = /(?:https?:\/\/|www\.)[^\s<>"'`\\^{|}]+/y
const angled = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/y
const punctuation = /[!-/:-@[-`{-~]/

export function parseInline(text: string, depth = 0): Inline[] {
  return new Scan(text, depth).all()
}

class Scan {
  readonly #text: string
  readonly #depth: number
  readonly #found: Inline[] = []
  /** Marks that have no end from some place on. */
  readonly #endless = new Set<string>()
  #plain = ''
  #at = 0

  constructor(text: string, depth: number) {
    this.#text = text
    this.#depth = depth
  }

  all(): Inline[] {
    const text = this.#text
    while (this.#at < text.length) {
      special.lastIndex = this.#at
      const next = special.exec(text)?.index ?? text.length
      this.#plain += text.slice(this.#at, next)
      this.#at = next
      if (next < text.length && !this.#take(text[next]!)) {
        this.#plain += text[next]
        this.#at++
      }
    }
    this.#flush()
    return this.#found
  }

  #take(mark: string): boolean {
    switch (mark) {
      case '\\':
        return this.#escaped()
      case '`':
        return this.#code()
      case '*':
      case '_':
      case '~':
        return this.#emphasis(mark)
      case '!':
        return this.#text[this.#at + 1] === '[' && this.#link(true)
      case '[':
        return this.#link(false)
      case '<':
        return this.#angled()
      case '\n':
        return this.#lineEnd()
      case 'h':
      case 'w':
        return this.#bareAddress()
      default:
        return false
    }
  }

  #flush(): void {
    if (this.#plain !== '') this.#found.push({ type: 'text', text: this.#plain })
    this.#plain = ''
  }

  #push(inline: Inline, end: number): true {
    this.#flush()
    this.#found.push(inline)
    this.#at = end
    return true
  }

  #escaped(): boolean {
    const next = this.#text[this.#at + 1]
    if (next === undefined || !punctuation.test(next)) return false
    this.#plain += next
    this.#at += 2
    return true
  }

  #code(): boolean {
    const run = runOf(this.#text, this.#at, '`')
    const mark = '`'.repeat(run)
    const start = this.#at + run
    const end = this.#endOfCode(start, mark)
    if (end < 0) {
      this.#plain += mark
      this.#at = start
      return true
    }
    const inner = this.#text.slice(start, end).replaceAll('\n', ' ')
    const isPadded = inner.length > 2 && inner.startsWith(' ') && inner.endsWith(' ')
    return this.#push({ type: 'code', text: isPadded ? inner.slice(1, -1) : inner }, end + run)
  }

  #endOfCode(from: number, mark: string): number {
    if (this.#endless.has(mark)) return -1
    for (let at = this.#text.indexOf(mark, from); at >= 0; ) {
      const run = runOf(this.#text, at, '`')
      if (run === mark.length) return at
      at = this.#text.indexOf(mark, at + run)
    }
    this.#endless.add(mark)
    return -1
  }

  #emphasis(mark: string): boolean {
    const text = this.#text
    const run = runOf(text, this.#at, mark)
    const isDeleted = mark === '~'
    const wide = isDeleted ? 2 : Math.min(run, 2)
    const literal = () => {
      this.#plain += text.slice(this.#at, this.#at + run)
      this.#at += run
      return true
    }
    if (run > 3 || (isDeleted && run !== 2) || this.#depth >= deepest) return literal()
    const start = this.#at + wide
    const after = text[start]
    if (after === undefined || /\s/.test(after)) return literal()
    // snake_case is not emphasis.
    if (mark === '_' && /[\p{L}\p{N}]/u.test(text[this.#at - 1] ?? '')) return literal()
    const end = this.#endOfEmphasis(start, mark, wide)
    if (end < 0) return literal()
    const children = parseInline(text.slice(start, end), this.#depth + 1)
    const type = isDeleted ? 'deleted' : wide === 2 ? 'strong' : 'emphasis'
    return this.#push({ type, children }, end + wide)
  }

  #endOfEmphasis(from: number, mark: string, wide: number): number {
    const wanted = mark.repeat(wide)
    if (this.#endless.has(wanted)) return -1
    const text = this.#text
    for (let at = from + 1; at < text.length; ) {
      const next = text.indexOf(wanted, at)
      if (next < 0) break
      const run = runOf(text, next, mark)
      const isAfterWord = !/\s/.test(text[next - 1]!) && text[next - 1] !== '\\'
      const isBeforeWord = mark === '_' && /[\p{L}\p{N}]/u.test(text[next + run] ?? '')
      // The outer markers of `***` close last.
      if (isAfterWord && !isBeforeWord && (run === wide || run === 3)) return next + run - wide
      at = next + run
    }
    this.#endless.add(wanted)
    return -1
  }

  /** `[text](target "title")` */
  #link(isImage: boolean): boolean {
    if (this.#depth >= deepest || this.#endless.has('[')) return false
    const text = this.#text
    const open = this.#at + (isImage ? 1 : 0)
    const close = closing(text, open)
    if (close < 0) {
      this.#endless.add('[')
      return false
    }
    if (text[close + 1] !== '(') return false
    const target = targetAt(text, close + 2)
    if (!target) return false
    const label = text.slice(open + 1, close)
    if (isImage) return this.#push({ type: 'image', ...target.found, text: label }, target.end)
    const children = parseInline(label, this.#depth + 1)
    return this.#push({ type: 'link', ...target.found, children }, target.end)
  }

  #angled(): boolean {
    angled.lastIndex = this.#at
    const found = angled.exec(this.#text)
    if (!found) return false
    const target = found[1]!
    return this.#push(
      { type: 'link', target, isBare: true, children: [{ type: 'text', text: target }] },
      angled.lastIndex,
    )
  }

  #lineEnd(): boolean {
    // Every line break is kept: dropping soft breaks would join the lines of logs and poems.
    this.#plain = this.#plain.replace(/ +$/, '')
    return this.#push({ type: 'break' }, this.#at + 1)
  }

  #bareAddress(): boolean {
    if (/[\p{L}\p{N}]/u.test(this.#text[this.#at - 1] ?? '')) return false
    address.lastIndex = this.#at
    const found = address.exec(this.#text)?.[0].replace(/[.,:;!?)\]*_~]+$/, '')
    if (found === undefined || found.length < 8) return false
    const target = found.startsWith('www.') ? `https://${found}` : found
    const children: Inline[] = [{ type: 'text', text: found }]
    return this.#push({ type: 'link', target, isBare: true, children }, this.#at + found.length)
  }
}

function runOf(text: string, at: number, mark: string): number {
  let end = at
  while (text[end] === mark) end++
  return end - at
}

/** Finds the bracket that closes the one at `open`, within the maximum length of a label. */
function closing(text: string, open: number): number {
  let depth = 0
  const end = Math.min(text.length, open + 2000)
  for (let at = open; at < end; at++) {
    const mark = text[at]
    if (mark === '\\') at++
    else if (mark === '[') depth++
    else if (mark === ']' && --depth === 0) return at
  }
  return -1
}

const plainTarget = /<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)/y
const titled = /\s*(?:\s(?:"([^"\n]*)"|'([^'\n]*)'))?\s*\)/y

function targetAt(text: string, at: number): { found: { target: string; title?: string }; end: number } | undefined {
  plainTarget.lastIndex = at
  const found = plainTarget.exec(text)
  if (!found) return undefined
  titled.lastIndex = plainTarget.lastIndex
  const end = titled.exec(text)
  if (!end) return undefined
  const title = end[1] ?? end[2]
  const target = found[1] ?? found[2] ?? ''
  return { found: { target, ...(title !== undefined && { title }) }, end: titled.lastIndex }
}
