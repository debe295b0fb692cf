/**
 * Ignore files as git reads them: negation, anchors, folders only, `*`, `?`, `[a-z]` and `**`.
 *
 * Needed only where git itself cannot be asked. Patterns are matched step by step and not turned into regular
 * expressions: a pattern of many stars would make those run for ever.
 */

export interface IgnoreRule {
  /** `!pattern`: takes back what an earlier rule ignored. */
  readonly negated: boolean
  readonly foldersOnly: boolean
  /** Holds for the path from the ignore file's folder; otherwise for the name alone, at any depth. */
  readonly anchored: boolean
  readonly segments: readonly Segment[]
}

type Segment = '**' | readonly Glyph[]
type Glyph = '*' | '?' | { readonly one: string } | { readonly among: (character: string) => boolean }

/** The rules of one ignore file, in order. */
export function parseIgnoreFile(text: string): IgnoreRule[] {
  const rules: IgnoreRule[] = []
  for (const line of text.replace(/^\ufeff/, '').split(/\r?\n/)) {
    const rule = parseLine(line)
    if (rule) rules.push(rule)
  }
  return rules
}

/**
 * Whether the rules of one ignore file settle `path`: ignored, taken back, or nothing said. The last rule that
 * matches decides.
 *
 * @param path from the ignore file's folder, with `/` between names
 */
export function verdict(rules: readonly IgnoreRule[], path: string, isFolder: boolean): 'ignored' | 'kept' | undefined {
  const names = path.split('/')
  for (let i = rules.length - 1; i >= 0; i--) {
    const rule = rules[i]!
    if (rule.foldersOnly && !isFolder) continue
    const matches = rule.anchored
      ? matchesPath(rule.segments, names)
      : matchesPath(rule.segments, [names[names.length - 1]!])
    if (matches) return rule.negated ? 'kept' : 'ignored'
  }
  return undefined
}

function parseLine(line: string): IgnoreRule | undefined {
  if (line.startsWith('#')) return undefined
  let pattern = withoutTrailingSpaces(line)
  const negated = pattern.startsWith('!')
  if (negated) pattern = pattern.slice(1)
  const foldersOnly = pattern.endsWith('/')
  if (foldersOnly) pattern = pattern.slice(0, -1)
  const anchored = pattern.includes('/')
  if (pattern.startsWith('/')) pattern = pattern.slice(1)
  if (pattern === '') return undefined
  const segments: Segment[] = []
  for (const part of pattern.split('/')) {
    // `**` means "any folders" only in a path; in a lone name it is a star like any other.
    const segment = part === '**' && anchored ? '**' : parseName(part)
    if (!segment) return undefined
    segments.push(segment)
  }
  return { negated, foldersOnly, anchored, segments }
}

/** Spaces at the end do not count, unless the last is escaped. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === ' ' && line[end - 2] !== '\\') end--
  return line.slice(0, end)
}

function parseName(text: string): Glyph[] | undefined {
  const glyphs: Glyph[] = []
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!
    if (character === '*') {
      if (glyphs[glyphs.length - 1] !== '*') glyphs.push('*')
    } else if (character === '?') glyphs.push('?')
    else if (character === '[') {
      const found = parseClass(text, i)
      // A bracket that is never closed makes a pattern that matches nothing.
      if (!found) return undefined
      glyphs.push({ among: found.among })
      i = found.end
    } else if (character === '\\') {
      if (++i === text.length) return undefined
      glyphs.push({ one: text[i]! })
    } else glyphs.push({ one: character })
  }
  return glyphs
}

const namedClasses: Record<string, RegExp> = {
  alnum: /[a-z0-9]/i,
  alpha: /[a-z]/i,
  digit: /[0-9]/,
  lower: /[a-z]/,
  space: /\s/,
  upper: /[A-Z]/,
  xdigit: /[0-9a-f]/i,
}

/** `[abc]`, `[a-z]`, `[!a]`, `[[:digit:]]`, starting at the bracket. */
function parseClass(text: string, start: number) {
  let i = start + 1
  const negated = text[i] === '!' || text[i] === '^'
  if (negated) i++
  const tests: ((character: string) => boolean)[] = []
  // A closing bracket in first place stands for itself.
  for (let first = true; first || text[i] !== ']'; first = false) {
    if (i >= text.length) return undefined
    const named = /^\[:([a-z]+):\]/.exec(text.slice(i, i + 12))
    if (named) {
      const pattern = namedClasses[named[1]!]
      if (!pattern) return undefined
      tests.push(character => pattern.test(character))
      i += named[0].length
      continue
    }
    if (text[i] === '\\') i++
    const low = text[i]
    if (low === undefined) return undefined
    i++
    if (text[i] === '-' && text[i + 1] !== ']' && i + 1 < text.length) {
      i++
      if (text[i] === '\\') i++
      const high = text[i]
      if (high === undefined) return undefined
      i++
      tests.push(character => character >= low && character <= high)
    } else tests.push(character => character === low)
  }
  return { end: i, among: (character: string) => tests.some(test => test(character)) !== negated }
}

/** Names against segments; only the last `**` seen needs to be tried again, so this is quick for any pattern. */
function matchesPath(segments: readonly Segment[], names: readonly string[]): boolean {
  let at = 0
  let name = 0
  let retry: { at: number; name: number } | undefined
  while (name < names.length) {
    const segment = segments[at]
    if (segment === '**') {
      // At the end it stands for everything inside, but not for the folder itself.
      if (at === segments.length - 1) return true
      retry = { at: at + 1, name }
      at++
    } else if (segment && matchesName(segment, names[name]!)) {
      at++
      name++
    } else if (retry) {
      retry.name++
      at = retry.at
      name = retry.name
    } else return false
  }
  return at === segments.length
}

function matchesName(glyphs: readonly Glyph[], name: string): boolean {
  let at = 0
  let position = 0
  let retry: { at: number; position: number } | undefined
  while (position < name.length) {
    const glyph = glyphs[at]
    if (glyph === '*') {
      retry = { at: at + 1, position }
      at++
    } else if (glyph !== undefined && matchesCharacter(glyph, name[position]!)) {
      at++
      position++
    } else if (retry) {
      retry.position++
      at = retry.at
      position = retry.position
    } else return false
  }
  while (glyphs[at] === '*') at++
  return at === glyphs.length
}

function matchesCharacter(glyph: Exclude<Glyph, '*'>, character: string): boolean {
  if (glyph === '?') return true
  return 'one' in glyph ? glyph.one === character : glyph.among(character)
}
