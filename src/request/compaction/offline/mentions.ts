/**
 * Names in messages: files, identifiers, addresses, versions, commands, commits. Taken from texts and tool calls, not
 * from results, because a listing of a thousand files is not a thousand files that matter.
 *
 * Words are split first and tested one by one, so no pattern ever runs over a long unbroken text.
 */
import type { ToolCallPart } from '../../../log/events/part.ts'
import type { Message } from '../../../log/views/message.ts'
import { filesIn } from '../tool-files.ts'

export interface Mention {
  text: string
  /** Number of mentions. A person's mention weighs most. */
  weight: number
  /** Ascending; the newest of many. */
  versions: number[]
}

interface Commit {
  message: string
  version: number
}

export interface Mentions {
  /** The folder that commands are run in and most files lie under. */
  root?: string
  /** Relative to the root where they lie under it. Heaviest first, as in all lists. */
  files: Mention[]
  names: Mention[]
  addresses: Mention[]
  versions: Mention[]
  commands: Mention[]
  /** In order. */
  commits: Commit[]
}

const weights = { user: 6, code: 3, text: 2, call: 1, touched: 5 }
const versionsKept = 8
/** Max characters that are read of one text or argument. */
const charactersRead = 8_000

export function mentionsIn(messages: readonly Message[]): Mentions {
  const files = new Tally()
  const names = new Tally()
  const addresses = new Tally()
  const versions = new Tally()
  const commands = new Tally()
  const folders = new Tally()
  const commits: Commit[] = []
  for (const message of messages) {
    if (message.missing) continue
    const { version } = message
    const noteWords = (text: string, weight: number, isCode = false) => {
      for (const { kind, word } of wordsIn(text, isCode)) {
        if (kind === 'file') files.note(word, version, weight)
        else if (kind === 'address') addresses.note(word, version, weight)
        else if (kind === 'version') versions.note(word, version, weight)
        else if (weight >= weights.text || word.length > 7) names.note(word, version, weight)
      }
    }
    for (const part of message.parts) {
      if (part.type === 'text') {
        // First what is quoted as code: a thing counts once per message, by its heaviest mention.
        for (const [, quoted] of part.text.slice(0, charactersRead).matchAll(/`([^`\n]{2,80})`/g)) {
          const word = quoted!.replace(/\(\)$/, '')
          if (!/^[A-Za-z_$][\w$]*$/.test(word) || word.length <= 3) continue
          names.note(word, version, message.role === 'user' ? weights.user : weights.code)
        }
        noteWords(part.text, message.role === 'user' ? weights.user : weights.text)
      } else if (part.type === 'tool-call') {
        const { read, changed } = filesIn(part)
        for (const file of read) files.note(file, version, weights.touched)
        for (const file of changed) files.note(file, version, weights.touched + 1)
        const command = commandIn(part)
        if (command === undefined) for (const text of textsIn(part.input)) noteWords(text, weights.call, true)
        else {
          const { folder, line } = withoutFolder(command)
          if (folder) folders.note(folder, version, 1)
          if (line) commands.note(line, version, 1)
          noteWords(command, weights.call)
          commits.push(...commitsIn(command).map(text => ({ message: text, version })))
        }
      }
    }
  }
  const root = rootOf(folders, files)
  return {
    ...(root && { root }),
    files: underRoot(files, root),
    names: names.heaviest(),
    addresses: addresses.heaviest(),
    versions: versions.heaviest(),
    commands: commands.heaviest(),
    commits,
  }
}

/** Counts a thing once per message. */
class Tally {
  readonly counted = new Map<string, Mention>()

  note(text: string, version: number, weight: number): void {
    const mention = this.counted.get(text)
    if (!mention) this.counted.set(text, { text, weight, versions: [version] })
    else if (mention.versions.at(-1) !== version) this.grow(mention, [version], weight)
  }

  grow(mention: Mention, versions: readonly number[], weight: number): void {
    mention.weight += weight
    mention.versions = [...new Set([...mention.versions, ...versions])].sort((a, b) => a - b).slice(-versionsKept)
  }

  heaviest(): Mention[] {
    // Equal weights: the newest first, then by name, so that the order never depends on chance.
    return [...this.counted.values()].sort(
      (a, b) => b.weight - a.weight || b.versions.at(-1)! - a.versions.at(-1)! || (a.text < b.text ? -1 : 1),
    )
  }
}

interface Word {
  kind: 'file' | 'address' | 'version' | 'name'
  word: string
}

const fileEnding =
  /\.(?:[cm]?[jt]sx?|json[cl5]?|md|mdx|txt|py|go|rs|rb|java|kt|swift|c|h|cc|cpp|hpp|cs|php|sh|bash|zsh|sql|ya?ml|toml|ini|env|lock|html?|css|scss|vue|svelte|xml|svg|png|jpe?g|gif|pdf|csv|log|proto|graphql|tf|gradle|ipynb|wasm|db|sqlite|conf|cfg)$/i
/** `console.log`, `process.env`, `this.db`: without a folder these are code. */
const codeEnding = /\.(?:log|env|db|c|h|cs|go|cc|html|lock|conf|xml|json|gif|css)$/i

function* wordsIn(text: string, isCode: boolean): Generator<Word> {
  for (const [raw] of text.slice(0, charactersRead).matchAll(/[^\s"'`()<>[\],;|=*]+/g)) {
    if (raw.length > 300) continue
    // A relative import in code is no path that can be opened from elsewhere.
    if (raw.startsWith('../') || (isCode && raw.startsWith('./'))) continue
    const word = raw.replace(/^(?:\.\/|[@:!?]+)(?=[\w/~.])|[.:!?…]+$/g, '')
    if (/^https?:\/\/\w/.test(word)) yield { kind: 'address', word }
    else if (isFile(word)) yield { kind: 'file', word: word.replace(/:\d+(?::\d+)?$/, '') }
    else if (/^(?:[\w./-]+@)?v?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(word))
      yield { kind: 'version', word: raw.startsWith('@') ? `@${word}` : word }
    else
      for (const [name] of word.matchAll(/[A-Za-z_$][\w$]{3,59}/g)) if (isName(name)) yield { kind: 'name', word: name }
  }
}

function isFile(word: string): boolean {
  const path = word.replace(/:\d+(?::\d+)?$/, '')
  if (!/^[\w@.~/+-]+$/.test(path) || !fileEnding.test(path) || path.includes('//') || /^(?:-|\.\w+$)/.test(path))
    return false
  // `main.ts/app.ts` is two files with a slash between them.
  if (
    path
      .split('/')
      .slice(0, -1)
      .some(segment => fileEnding.test(segment))
  )
    return false
  return path.includes('/') || !codeEnding.test(path) || /^[a-z\d_-]+\.json$|-lock|^[A-Z]/.test(path)
}

/** Not a word of a language: it has humps (`userName`, `UserName`) or underscores between letters. */
function isName(word: string): boolean {
  // Ids of calls and requests have humps and underscores too, and digits.
  if (/\d\D*\d\D*\d/.test(word)) return false
  return /[a-z\d][A-Z]/.test(word) || /[A-Za-z\d]_[A-Za-z\d]/.test(word)
}

const shells = new Set(
  'bash shell sh exec execcommand runcommand runterminalcmd terminal localshell executecommand'.split(' '),
)

function commandIn({ name, input }: ToolCallPart): string | undefined {
  if (!shells.has(name.toLowerCase().replace(/[^a-z]/g, ''))) return undefined
  if (typeof input !== 'object' || input === null) return undefined
  const { command, cmd } = input as { command?: unknown; cmd?: unknown }
  const given = command ?? cmd
  return Array.isArray(given)
    ? given.filter(one => typeof one === 'string').join(' ')
    : typeof given === 'string'
      ? given
      : undefined
}

/** The command without the folder it goes to first and without what only shortens its output. */
function withoutFolder(command: string): { folder?: string; line: string } {
  const [first = ''] = command.trim().slice(0, 400).split('\n')
  const start = /^cd ("[^"]{1,300}"|\S{1,300}) *(?:&&|;) */.exec(first)
  const line = (start ? first.slice(start[0].length) : first)
    .replace(/ *(?:2>&1)? *\| *(?:tail|head)\b[^|]*$/, '')
    .replace(/ *2>&1 *$/, '')
    .trim()
  const folder = start?.[1]?.replaceAll('"', '').replace(/\/+$/, '')
  return { line, ...(folder && { folder }) }
}

function commitsIn(command: string): string[] {
  if (!command.includes('git commit')) return []
  const found = [
    ...command
      .slice(0, charactersRead)
      .matchAll(/git commit[^\n"']{0,80}-a?m\s+(?:"([^"\n]{3,200})|'([^'\n]{3,200}))/g),
  ]
  return found.map(([, double, single]) => (double ?? single)!.trim())
}

/** The texts of a call's arguments: code that is written names what matters. */
function textsIn(input: unknown): string[] {
  if (typeof input === 'string') return [input]
  if (typeof input !== 'object' || input === null) return []
  return Object.values(input).filter(value => typeof value === 'string')
}

/** The folder most commands went to; else the one that most absolute paths share. */
function rootOf(folders: Tally, files: Tally): string | undefined {
  const commanded = folders.heaviest().filter(folder => folder.text.startsWith('/'))
  const all = commanded.reduce((sum, folder) => sum + folder.weight, 0)
  // The shortest one that others lie under is the project, the others are its parts.
  const common = commanded.map(folder => ({
    folder: folder.text,
    weight: commanded.reduce((sum, other) => sum + (isUnder(other.text, folder.text) ? other.weight : 0), 0),
  }))
  const chosen = common.sort((a, b) => b.weight - a.weight || a.folder.length - b.folder.length)[0]
  if (chosen && all >= 3 && chosen.weight >= all * 0.6) return chosen.folder
  return sharedFolder([...files.counted.keys()].filter(file => file.startsWith('/')))
}

function sharedFolder(paths: readonly string[]): string | undefined {
  if (paths.length < 3) return undefined
  let under = paths.map(path => path.split('/'))
  const enough = under.length * 0.8
  let depth = 1
  for (; ; depth++) {
    const counts = new Map<string, number>()
    for (const segments of under) {
      const segment = segments.length > depth + 1 ? segments[depth]! : undefined
      if (segment) counts.set(segment, (counts.get(segment) ?? 0) + 1)
    }
    const next = [...counts].find(([, count]) => count >= enough)
    if (!next) break
    under = under.filter(segments => segments[depth] === next[0])
  }
  return depth > 2 ? under[0]!.slice(0, depth).join('/') : undefined
}

function isUnder(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

/** Files relative to the root, and `main.ts` counted with the `src/main.ts` that it can only mean. */
function underRoot(files: Tally, root: string | undefined): Mention[] {
  const tidy = new Tally()
  for (const mention of files.counted.values()) {
    const text =
      root && isUnder(mention.text, root) ? mention.text.slice(root.length + 1) : mention.text.replace(/^\.\//, '')
    const known = tidy.counted.get(text)
    if (known) tidy.grow(known, mention.versions, mention.weight)
    else if (text) tidy.counted.set(text, { ...mention, text })
  }
  for (const [path, mention] of [...tidy.counted]) {
    // `/src/main.ts`, as people write it who mean the project's root.
    const same = path.startsWith('/') ? tidy.counted.get(path.slice(1)) : undefined
    if (!same) continue
    tidy.grow(same, mention.versions, mention.weight)
    tidy.counted.delete(path)
  }
  joinFolders(tidy)
  const byEnd = new Map<string, string[]>()
  for (const path of tidy.counted.keys()) {
    const end = path.slice(path.lastIndexOf('/') + 1)
    byEnd.set(end, [...(byEnd.get(end) ?? []), path].slice(0, 30))
  }
  for (const [path, mention] of [...tidy.counted]) {
    const longer = byEnd
      .get(path.slice(path.lastIndexOf('/') + 1))!
      .filter(other => other.endsWith(`/${path}`) && tidy.counted.has(other))
    if (longer.length === 0) continue
    tidy.counted.delete(path)
    const heaviest = longer.map(other => tidy.counted.get(other)!).sort((a, b) => b.weight - a.weight)[0]!
    tidy.grow(heaviest, mention.versions, mention.weight)
  }
  return tidy.heaviest()
}

/** `src/tui/footer.ts` lies in `packages/app/src/tui` when that is the only known folder which ends so. */
function joinFolders(files: Tally): void {
  const known = new Map<string, Set<string>>()
  for (const path of files.counted.keys()) {
    const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')))
    const segments = folder.split('/').slice(-12)
    // `/src` is a folder of its own, not the end of another.
    for (let at = segments[0] === '' ? 2 : 1; at < segments.length; at++) {
      const end = segments.slice(at).join('/')
      known.set(end, (known.get(end) ?? new Set()).add(folder))
    }
  }
  for (const [path, mention] of [...files.counted]) {
    const slash = path.lastIndexOf('/')
    const folders = slash > 0 ? known.get(path.slice(0, slash)) : undefined
    if (folders?.size !== 1) continue
    const text = `${[...folders][0]}${path.slice(slash)}`
    files.counted.delete(path)
    const same = files.counted.get(text)
    if (same) files.grow(same, mention.versions, mention.weight)
    else files.counted.set(text, { ...mention, text })
  }
}
