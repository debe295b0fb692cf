/**
 * Copies regions of the examples into the documentation, so that what people read is what the tests run; also the errors
 * from their comments, and the options from their schemas, so that none is missing.
 *
 * A place to fill looks like `<!-- example: first.ts#first -->` followed by a code block, `<!-- errors: store/ -->`
 * followed by a table of those whose code begins like that, or `<!-- options: store project -->` followed by a table of
 * these options; `requests.*` stands for all options of a group. `--check` changes nothing and fails when a copy is out
 * of date.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiPage } from './api.mjs'
import { readOptions } from './options-table.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const check = process.argv.includes('--check')
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => join('docs', name)),
]
const errors = readErrors()
const options = await readOptions()
let stale = 0
keepUpToDate(join('docs', 'api.md'), apiPage())

for (const page of pages) {
  const path = join(root, page)
  const text = readFileSync(path, 'utf8')
  const filled = text
    .replace(/(<!-- example: ([\w.-]+)#([\w-]+) -->\n)```ts\n[\s\S]*?```/g, (_, marker, file, region) => {
      return `${marker}\`\`\`ts\n${regionOf(file, region)}\n\`\`\``
    })
    .replace(/(<!-- errors: (.+) -->\n)(?:\|.*\n)*/g, (_, marker, begins) => `${marker}${tableOf(begins.split(' '))}`)
    .replace(
      /(<!-- options: (.+) -->\n)(?:\|.*\n)*/g,
      (_, marker, names) => `${marker}${options.table(names.split(' '))}`,
    )
  if (filled === text) continue
  stale++
  if (check) console.error(`${page} is out of date: run npm run docs`)
  else writeFileSync(path, filled)
}
const unnamed = errors.filter(({ isShown }) => !isShown).map(({ name }) => name)
if (unnamed.length > 0) throw new Error(`docs/errors.md has no place for ${unnamed.join(', ')}`)
if (options.missing.length > 0) throw new Error(`docs/options.md has no place for ${options.missing.join(', ')}`)
if (check && stale > 0) process.exit(1)

function keepUpToDate(page, text) {
  const path = join(root, page)
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  stale++
  if (check) console.error(`${page} is out of date: run npm run docs`)
  else writeFileSync(path, text)
}

function regionOf(file, region) {
  const text = readFileSync(join(root, 'examples', file), 'utf8')
  const match = new RegExp(`// #region ${region}\\n([\\s\\S]*?)\\n// #endregion ${region}`).exec(text)
  if (!match) throw new Error(`examples/${file} has no region ${region}`)
  return match[1]
}

/** Every class of src/errors.ts with what its comment says. */
function readErrors() {
  const source = readFileSync(join(root, 'src', 'errors.ts'), 'utf8')
  const comment = String.raw`/\*\*((?:(?!\*/)[\s\S])*)\*/`
  const fields = String.raw`  override readonly code = '(.+)'\n  override readonly status(?:: | = )(.+)\n`
  const found = source.matchAll(new RegExp(`${comment}\nexport class (\\w+) extends ColloquyError {\n${fields}`, 'g'))
  const read = [...found].map(([, said, name, code, status]) => {
    const says = said.replace(/\n \* ?/g, ' ').trim()
    return { name, code, status: status.replaceAll(' | ', ' or '), says, isShown: false }
  })
  const classes = source.match(/^export class /gm).length
  if (read.length !== classes) throw new Error(`src/errors.ts: of ${classes} classes ${read.length} can be read`)
  return read
}

function tableOf(begins) {
  const rows = errors.filter(({ code }) => begins.some(begin => code.startsWith(begin)))
  for (const row of rows) row.isShown = true
  const lines = rows.map(({ code, name, status, says }) => `| \`${code}\` | \`${name}\` | ${status} | ${says} |`)
  return ['| code | class | HTTP | what it means, and what to do |', '|---|---|---|---|', ...lines, ''].join('\n')
}
