/**
 * The part of `npm run lint` that Biome cannot hold: functions that fit on a screen or two, few mutable variables shared
 * between closures, and the language of comments. CONTRIBUTING.md gives the reasons.
 *
 * `node scripts/style.mjs [--count] [FOLDER…]` checks some folders, or counts findings by folder.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { root } from './setup.mjs'

const maxFunctionLines = 120
const maxSharedVariables = 6
const maxFolderFiles = 25
const defaultFolders = ['src', 'web/src', 'test', 'bench', 'examples', 'scripts']

/** Participles and pronouns say what happened to a thing, not what it is. `scripted` is the name of a door. */
const vagueFileName =
  /^(?!scripted$)(\w+ed|told|said|made|known|given|seen|taken|found|left|kept|held|gone|begun|one|rest|retrying|waiting|keeping)$/
const nouns = ['feed', 'seed', 'embed']

/** Each pattern is tested on the text of one comment, joined into one line. */
const phrases = [
  [
    /^(What|Who|How|Whether|Where|Of|Whoever|Whose|Whom)\b/,
    'opens with a relative clause: name the subject, or start with a verb',
  ],
  [/\b(whoever|whomever)\b/i, 'says "whoever": name the part (the caller, the reader, the worker)'],
  [
    /\b(somebody|someone|nobody|no one|anybody)\b/i,
    'has an indefinite person: name the part (the caller, another process, a person)',
  ],
  [/\banew\b/i, 'says "anew": write "again", or name what starts'],
  [/\bfor ever\b/i, 'says "for ever": write "permanently", "always" or "never ends"'],
  [/\bof before\b/i, 'says "of before": write "older" or "earlier"'],
  [/\bbeside\b/i, 'says "beside": write "next to", "with", or "in the worker"'],
  [/\bthe seeds\b|\bseed 00\d/i, 'speaks of "seeds": name dagent, Loom or TENEX'],
  [/[.;:] Who [a-z]+s?\b/, 'has an indefinite person ("Who …"): name the part'],
  [/\b(lets?|letting) go\b/i, 'says "let go": write "release", "close" or "evict"'],
  [/\bbrought in order\b|\bin peace\b|\bat hand\b/i, 'has a poetic phrase: use the usual technical word'],
  [/\b(earlier|older|former) (programs?|releases?)\b/i, 'argues with an earlier version: delete it'],
  [
    /\b(took|takes?|costs?) (about |some |only )?[\d.,]+ ?(ms|µs|s|seconds|milliseconds)\b/i,
    'gives a timing: benchmarks say it in docs/internals',
  ],
]

const folders = process.argv.slice(2).filter(name => !name.startsWith('--'))
const files = (folders.length > 0 ? folders : defaultFolders).flatMap(filesIn)
const findings = [...files.flatMap(check), ...fullFolders(files)]
if (process.argv.includes('--count')) printCounts()
else for (const { place, problem } of findings) console.log(`${place}: ${problem}`)
if (findings.length > 0) process.exitCode = 1

function filesIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => /\.(ts|tsx|mjs)$/.test(name) && !name.includes('node_modules'))
    .map(name => join(root, folder, name))
}

function check(path) {
  const text = readFileSync(path, 'utf8')
  const file = relative(root, path)
  const lang = path.endsWith('.tsx') ? 'tsx' : 'ts'
  const lineAt = lineFinder(text)
  const found = []
  const add = (offset, problem) => found.push({ place: `${file}:${lineAt(offset)}`, folder: dirname(file), problem })
  checkName(file, add)
  if (file !== 'scripts/style.mjs')
    for (const { offset, words } of commentsIn(text)) checkWords(words, problem => add(offset, problem))
  if (!/\.test\.tsx?$|^test\//.test(file)) checkFunctions(parseAst(text, { lang }), lineAt, add)
  return found
}

function checkName(file, add) {
  const [name] = basename(file).split('.')
  if (vagueFileName.test(name) && !nouns.includes(name)) add(0, `the file name "${name}" is no noun`)
}

/** Tests beside the code do not count. */
function fullFolders(paths) {
  const counts = new Map()
  for (const path of paths) {
    const folder = dirname(relative(root, path))
    if (folder.startsWith('test') || !/\.test\.tsx?$/.test(path)) counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, count]) => count > maxFolderFiles)
    .map(([folder, count]) => ({ place: folder, folder, problem: `${count} files of code; ${maxFolderFiles} at most` }))
}

function checkWords(words, add) {
  for (const [pattern, problem] of phrases)
    if (pattern.test(words)) add(`the comment "${words.slice(0, 60)}…" ${problem}`)
}

/** Comments of the source, doc stars removed. Consecutive `//` lines are one comment. Strings are skipped. */
function commentsIn(text) {
  const comments = []
  const token =
    /\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/[^\n]*\n?)+|[ \t]\/\/ [^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/gm
  for (const match of text.matchAll(token)) {
    const raw = match[0]
    if (!/^\s*\/[/*]/.test(raw)) continue
    const words = raw
      .replace(/^\s*\/\*+|\*+\/$/g, '')
      .replace(/^[ \t]*(\*|\/\/)/gm, '')
      .replace(/\s+/g, ' ')
      .trim()
    comments.push({ offset: match.index + raw.search(/\S/), words })
  }
  return comments
}

function checkFunctions(program, lineAt, add) {
  walk(program, node => {
    if (!isFunction(node) || !node.body) return
    const lines = lineAt(node.end) - lineAt(node.start) + 1
    if (lines > maxFunctionLines) add(node.start, `a function of ${lines} lines; ${maxFunctionLines} at most`)
    const shared = sharedVariables(node)
    if (shared.length > maxSharedVariables)
      add(
        node.start,
        `${shared.length} mutable variables shared by closures (${shared.join(', ')}); ${maxSharedVariables} at most`,
      )
  })
}

/** `let` variables of a function that functions inside it use. */
function sharedVariables(node) {
  if (node.body.type !== 'BlockStatement') return []
  const names = node.body.body
    .filter(statement => statement.type === 'VariableDeclaration' && statement.kind === 'let')
    .flatMap(statement => statement.declarations.map(declaration => declaration.id.name))
  const used = new Set()
  walk(node.body, inner => {
    if (!isFunction(inner) || !inner.body) return
    walk(inner.body, leaf => leaf.type === 'Identifier' && used.add(leaf.name))
  })
  return names.filter(name => used.has(name))
}

function isFunction({ type }) {
  return type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression'
}

function walk(node, visit) {
  if (Array.isArray(node)) for (const item of node) walk(item, visit)
  else if (node && typeof node === 'object') {
    if (typeof node.type === 'string') visit(node)
    for (const key in node) if (key !== 'parent') walk(node[key], visit)
  }
}

function lineFinder(text) {
  const ends = [...text.matchAll(/\n/g)].map(match => match.index)
  return offset => {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (ends[middle] < offset) low = middle + 1
      else high = middle
    }
    return low + 1
  }
}

function printCounts() {
  const counts = new Map()
  for (const { folder } of findings) counts.set(folder, (counts.get(folder) ?? 0) + 1)
  for (const [folder, count] of [...counts].sort((a, b) => b[1] - a[1])) console.log(`${count}\t${folder}`)
  console.log(`${findings.length}\tin all`)
}
