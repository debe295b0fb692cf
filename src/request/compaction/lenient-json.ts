/**
 * Reads JSON out of a model's reply, however it is wrapped or broken: fenced, amid prose, several objects, cut off,
 * trailing commas, single quotes, bare keys, raw line breaks and stray quotes in strings, a bracket forgotten.
 *
 * The caller checks what the value looks like. The text is read in one pass with bounded looks ahead, so hostile input
 * costs no more than its length. `jsonrepair` does less well here: see docs/decisions/dependencies.md.
 */

interface LenientJson {
  value: unknown
  /** The text ended inside a string or a word, so that the last thing in it is not whole. */
  cutOff: boolean
}

/**
 * Returns the value in `text`, or undefined when there is none.
 *
 * Of several values, an accepted one comes first, then the largest, then the last: models think aloud in small examples
 * and answer afterwards. An accepted value is also found inside a wrapper (`{"result": {…}}`).
 */
export function parseLeniently(text: string, accepts?: (value: unknown) => boolean): unknown {
  return readLeniently(text, accepts)?.value
}

/** Does what {@link parseLeniently} does, and reports whether the reply was cut off. */
export function readLeniently(text: string, accepts?: (value: unknown) => boolean): LenientJson | undefined {
  const exact = parseExactly(text)
  if (exact) {
    // Some models answer with the JSON as one JSON string.
    if (typeof exact.value === 'string') return readLeniently(exact.value, accepts) ?? exact
    return accepts ? (acceptedWithin([exact], accepts) ?? exact) : exact
  }
  const candidates = candidatesIn(text)
  if (accepts) {
    const accepted = candidates.filter(candidate => accepts(candidate.value))
    const choice = largest(accepted) ?? acceptedWithin(candidates, accepts)
    if (choice) return { value: choice.value, cutOff: choice.cutOff }
  }
  const objects = candidates.filter(candidate => !Array.isArray(candidate.value))
  const choice = largest(objects.length > 0 ? objects : candidates)
  return choice && { value: choice.value, cutOff: choice.cutOff }
}

function parseExactly(text: string): LenientJson | undefined {
  try {
    return { value: JSON.parse(text), cutOff: false }
  } catch {
    return undefined
  }
}

interface Candidate extends LenientJson {
  length: number
}

function largest(candidates: readonly Candidate[]): Candidate | undefined {
  let best: Candidate | undefined
  for (const candidate of candidates) if (!best || candidate.length >= best.length) best = candidate
  return best
}

/** Finds the first accepted value inside the candidates, nearest to the top. */
function acceptedWithin(candidates: readonly LenientJson[], accepts: (value: unknown) => boolean) {
  const queue = candidates.map(({ value, cutOff }) => ({ value, cutOff, depth: 0 }))
  for (let next = 0; next < queue.length; next++) {
    const { value, cutOff, depth } = queue[next]!
    if (typeof value !== 'object' || value === null) continue
    if (accepts(value)) return { value, cutOff }
    // Wrappers are one or two levels deep; a value nested deeper is not the answer.
    if (depth < 3) for (const inner of Object.values(value)) queue.push({ value: inner, cutOff, depth: depth + 1 })
  }
  return undefined
}

function candidatesIn(text: string): Candidate[] {
  const reader = new Reader(text)
  const candidates: Candidate[] = []
  for (let at = nextOpening(text, 0); at < text.length; ) {
    const { value, end, cutOff } = reader.readAt(at)
    if (value !== undefined) candidates.push({ value, cutOff, length: end - at })
    at = nextOpening(text, Math.max(end, at + 1))
  }
  return candidates
}

/** Finds where the next object or array may begin. Two braces in a row are a template's, not JSON. */
function nextOpening(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x5b) return at
    if (code === 0x7b && text.charCodeAt(at + 1) !== 0x7b) return at
  }
  return text.length
}

/** A deeper value would overflow the stack of code that walks it by recursion. */
const maximumDepth = 64
const maximumKeyLength = 256

type Frame =
  | { kind: 'object'; value: Record<string, unknown>; key: string | undefined }
  | { kind: 'array'; value: unknown[] }

/** Reads one object or array at a time. It ends where the text makes no sense; what was read until there is kept. */
class Reader {
  private readonly text: string
  private at = 0
  private frames: Frame[] = []
  private read = 0
  private cutOff = false
  /** Set once a string ran to the end in search of a likely closing quote: from then on the first quote closes. */
  private anyQuoteCloses = false
  private commentsEnd = true
  /** End of the line last looked at, so that many comments on one long line do not search it each. */
  private lineEnd = 0

  constructor(text: string) {
    this.text = text
  }

  /** Returns the value that opens at `start`, if there is one, and where to continue. */
  readAt(start: number): { value: unknown; end: number; cutOff: boolean } {
    this.at = start
    this.frames = []
    this.read = 0
    this.cutOff = false
    this.open()
    const top = this.frames[0]!.value
    while (this.frames.length > 0 && this.step());
    const closed = this.frames.length === 0
    // A `{` in prose: the text behind it is read on its own.
    if (!closed && this.read === 0) return { value: undefined, end: start + 1, cutOff: false }
    return { value: top, end: this.at, cutOff: this.cutOff }
  }

  /** Reads the next piece of the innermost container; false when it makes no sense or the text is over. */
  private step(): boolean {
    this.skipBlank()
    if (this.at >= this.text.length) return false
    const frame = this.frames.at(-1)!
    const char = this.text[this.at]!
    if (char === ',') return this.skip(1)
    if (char === '}' || char === ']') return this.close(char)
    if (char === '.' && this.text.startsWith('...', this.at)) return this.skip(3)
    if (char === '…') return this.skip(1)
    if (frame.kind === 'object' && frame.key === undefined) return this.readKey(frame)
    return this.readValue(char)
  }

  private skip(count: number): boolean {
    this.at += count
    return true
  }

  private open(): boolean {
    if (this.frames.length >= maximumDepth) return false
    const frame: Frame =
      this.text[this.at] === '{' ? { kind: 'object', value: {}, key: undefined } : { kind: 'array', value: [] }
    if (this.frames.length > 0) this.put(frame.value)
    this.frames.push(frame)
    return this.skip(1)
  }

  /** Closes down to the bracket's own kind: a bracket of the other kind means that an inner one was forgotten. */
  private close(char: '}' | ']'): boolean {
    const kind = char === '}' ? 'object' : 'array'
    const own = this.frames.findLastIndex(frame => frame.kind === kind)
    if (own >= 0) this.frames.length = own
    return this.skip(1)
  }

  private put(value: unknown): void {
    const frame = this.frames.at(-1)!
    this.read++
    if (frame.kind === 'array') {
      frame.value.push(value)
      return
    }
    // As JSON.parse does: a key called __proto__ is a key, not the prototype.
    Object.defineProperty(frame.value, frame.key ?? '', { value, enumerable: true, writable: true, configurable: true })
    frame.key = undefined
  }

  private readKey(frame: Frame & { kind: 'object' }): boolean {
    const start = this.at
    const quote = this.text[start]!
    let key: string
    if (quote === '"' || quote === "'") {
      const limit = Math.min(this.text.length, start + maximumKeyLength)
      let end = start + 1
      while (end < limit && this.text[end] !== quote) end += this.text[end] === '\\' ? 2 : 1
      if (end >= limit) return false
      key = unescaped(this.text.slice(start + 1, end))
      this.at = end + 1
    } else {
      const word = this.match(bareKey)
      if (word === undefined) return false
      key = word
    }
    this.skipBlank()
    if (this.text[this.at] !== ':') {
      this.at = start
      return false
    }
    frame.key = key
    return this.skip(1)
  }

  private readValue(char: string): boolean {
    if (char === '{' || char === '[') return this.open()
    if (char === '"' || char === "'") {
      this.put(this.readString(char))
      return true
    }
    const number = this.match(numberPattern)
    if (number !== undefined) {
      this.put(Number(number))
      return true
    }
    const word = this.match(bareWord)
    if (word === undefined) return false
    if (this.at >= this.text.length) this.cutOff = true
    this.put(word in constants ? constants[word] : word)
    return true
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const piece = pattern.exec(this.text)?.[0]
    if (piece !== undefined) this.at += piece.length
    return piece
  }

  /**
   * Reads to a closing quote that is followed by what may follow a string. Earlier quotes belong to the text, because
   * models forget to escape them.
   */
  private readString(quote: string): string {
    const start = this.at + 1
    let firstQuote: number | undefined
    for (let at = start; at < this.text.length; at++) {
      const char = this.text[at]
      if (char === '\\') at++
      else if (char === quote) {
        if (this.anyQuoteCloses || this.closesString(at)) {
          this.at = at + 1
          return unescaped(this.text.slice(start, at))
        }
        firstQuote ??= at
      }
    }
    if (firstQuote !== undefined) {
      this.anyQuoteCloses = true
      this.at = firstQuote + 1
      return unescaped(this.text.slice(start, firstQuote))
    }
    this.at = this.text.length
    this.cutOff = true
    return unescaped(this.text.slice(start))
  }

  private closesString(quoteAt: number): boolean {
    let at = quoteAt + 1
    let lineBreak = false
    for (; isBlank(this.text.charCodeAt(at)); at++) if (this.text[at] === '\n') lineBreak = true
    const next = this.text[at]
    if (next === undefined || next === '}' || next === ']') return true
    // A comma forgotten at the end of a line.
    if (lineBreak && (next === '"' || next === "'" || next === '{')) return true
    // A fence closes the block of code, and the rest with it.
    if (lineBreak && next === '`') return true
    if (next === '/' && (this.text[at + 1] === '/' || this.text[at + 1] === '*')) return true
    if (next !== ',') return false
    for (at++; isBlank(this.text.charCodeAt(at)); at++);
    const follows = this.text[at]
    if (follows === undefined || '"\'{[}]/'.includes(follows)) return true
    const inObject = this.frames.at(-1)!.kind === 'object'
    const pattern = inObject ? keyAhead : valueAhead
    pattern.lastIndex = at
    return pattern.test(this.text)
  }

  private skipBlank(): void {
    for (;;) {
      while (isBlank(this.text.charCodeAt(this.at))) this.at++
      if (this.text[this.at] !== '/') return
      const next = this.text[this.at + 1]
      if (next === '/') {
        if (this.at >= this.lineEnd) this.lineEnd = this.text.indexOf('\n', this.at)
        if (this.lineEnd < 0) this.lineEnd = this.text.length
        this.at = this.lineEnd
      } else if (next === '*' && this.commentsEnd) {
        const end = this.text.indexOf('*/', this.at + 2)
        if (end < 0) this.commentsEnd = false
        else this.at = end + 2
      } else return
    }
  }
}

const bareKey = /[A-Za-z_$][\w$-]{0,63}/y
const bareWord = /[A-Za-z_$][\w$.-]{0,255}/y
const numberPattern = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w$])/y
const keyAhead = /[A-Za-z_$][\w$-]{0,63}\s{0,4}:/y
const valueAhead = /-?\d|true\b|false\b|null\b|\.\.\.|…/y
const constants: Record<string, unknown> = {
  __proto__: null,
  true: true,
  false: false,
  null: null,
  True: true,
  False: false,
  None: null,
  undefined: null,
  NaN: null,
}

function isBlank(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0 || code === 0xfeff
}

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }

/** Keeps an escape that JSON does not know (`\d` of a pattern, `\U` of a path) as it is. */
function unescaped(raw: string): string {
  if (!raw.includes('\\')) return raw
  return raw.replace(
    /\\(?:u([0-9a-fA-F]{4})|([\s\S]?))/g,
    (whole, hex: string | undefined, char: string | undefined) => {
      if (hex) return String.fromCharCode(Number.parseInt(hex, 16))
      if (!char) return ''
      if (char === '"' || char === "'" || char === '\\' || char === '/') return char
      return escapes[char] ?? (char === '\n' ? '\n' : whole)
    },
  )
}
