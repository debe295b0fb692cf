/** Light syntax highlighting: comments, strings, numbers, keywords. One rough pass serves all languages. */

interface Token {
  kind: 'plain' | 'comment' | 'string' | 'number' | 'keyword' | 'added' | 'removed'
  text: string
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const common = words(
  'abstract as async await break case catch class const continue def default del delete do elif else enum except export extends extern false False finally fn for from func function go goto if impl implements import in include instanceof interface is lambda let loop match mod mut namespace new nil None not null of or package pass private protected pub public raise range readonly return select self static struct super switch then this throw trait true True try type typeof undefined union unless until unsafe use using var void where while with yield and end local repeat begin module require',
)
const sql = words(
  'select from where insert into values update set delete create table index view drop alter add join left right inner outer on as and or not null is in exists between like order by group having limit offset union all distinct primary key foreign references default check constraint begin commit rollback with returning case when then else end if',
)
const shell = words(
  'if then else elif fi for in do done while until case esac function return exit export local echo cd set source sudo',
)

interface Language {
  keywords: ReadonlySet<string>
  ignoresCase?: boolean
  pattern: RegExp
}

const strings = String.raw`"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?`
const number = String.raw`\b(?:0x[\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\b`
const word = String.raw`[A-Za-z_$][\w$]*`

function language(comments: string, keywords: ReadonlySet<string>, more = '', ignoresCase = false): Language {
  const pattern = new RegExp(`(${comments})|(${more}${strings})|(${number})|(${word})`, 'g')
  return { keywords, ignoresCase, pattern }
}

const slashes = String.raw`\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`
const template = '`(?:[^`\\\\]|\\\\.)*`?|'
const cLike = language(slashes, common, template)
const hashed = language(String.raw`#[^\n]*`, common, String.raw`"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|`)
const languages: Record<string, Language> = {
  python: hashed,
  py: hashed,
  ruby: hashed,
  rb: hashed,
  yaml: hashed,
  yml: hashed,
  toml: hashed,
  sh: language(String.raw`(?<=^|\s)#[^\n]*`, shell),
  sql: language(String.raw`--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`, sql, '', true),
  json: language('(?!)', words('true false null')),
  lua: language(String.raw`--[^\n]*`, common),
  css: language(String.raw`\/\*[\s\S]*?(?:\*\/|$)`, words('important')),
}
languages.bash = languages.sh!
languages.shell = languages.sh!
languages.zsh = languages.sh!
languages.jsonc = cLike
languages.jsonl = languages.json!

for (const name of 'ts tsx js jsx mjs cjs typescript javascript java kotlin kt c h cpp c++ cs csharp go rust rs swift php scala dart proto graphql'.split(
  ' ',
)) {
  languages[name] = cLike
}

/** Longer code is not highlighted. */
const longest = 50_000

/** @param info the text behind the opening fence; its first word is the language */
export function highlight(text: string, info: string): Token[] {
  const name = info.split(/[\s,{]/, 1)[0]!.toLowerCase()
  if (text.length > longest) return [{ kind: 'plain', text }]
  if (name === 'diff' || /^diff --git /m.test(text.slice(0, 2000))) return differences(text)
  // Code in an unknown language stays plain: better plain than wrong.
  const language = Object.hasOwn(languages, name) ? languages[name] : undefined
  if (!language) return [{ kind: 'plain', text }]
  const { pattern, keywords, ignoresCase } = language
  const tokens: Token[] = []
  let last = 0
  const push = (kind: Token['kind'], piece: string) => {
    const before = tokens.at(-1)
    if (before?.kind === kind) before.text += piece
    else if (piece !== '') tokens.push({ kind, text: piece })
  }
  for (const found of text.matchAll(pattern)) {
    push('plain', text.slice(last, found.index))
    last = found.index + found[0].length
    const [whole, comment, string, digits] = found
    if (comment !== undefined) push('comment', whole)
    else if (string !== undefined) push('string', whole)
    else if (digits !== undefined) push('number', whole)
    else push(keywords.has(ignoresCase ? whole.toLowerCase() : whole) ? 'keyword' : 'plain', whole)
  }
  push('plain', text.slice(last))
  return tokens
}

function differences(text: string): Token[] {
  return text.split(/(?<=\n)/).map(line => {
    if (/^(?:diff |index |@@|---|\+\+\+)/.test(line)) return { kind: 'comment', text: line }
    if (line.startsWith('+')) return { kind: 'added', text: line }
    return { kind: line.startsWith('-') ? 'removed' : 'plain', text: line }
  })
}
