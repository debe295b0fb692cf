/**
 * Copies regions of the examples into the documentation, so that what people read is what the tests run.
 *
 * A place to fill looks like `<!-- example: first.ts#first -->` followed by a code block. `--check` changes nothing
 * and fails when a copy is out of date.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const check = process.argv.includes('--check')
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => join('docs', name)),
]
let stale = 0

for (const page of pages) {
  const path = join(root, page)
  const text = readFileSync(path, 'utf8')
  const filled = text.replace(
    /(<!-- example: ([\w.-]+)#([\w-]+) -->\n)```ts\n[\s\S]*?```/g,
    (_, marker, file, region) => {
      return `${marker}\`\`\`ts\n${regionOf(file, region)}\n\`\`\``
    },
  )
  if (filled === text) continue
  stale++
  if (check) console.error(`${page} is out of date: run npm run docs`)
  else writeFileSync(path, filled)
}
if (check && stale > 0) process.exit(1)

function regionOf(file, region) {
  const text = readFileSync(join(root, 'examples', file), 'utf8')
  const match = new RegExp(`// #region ${region}\\n([\\s\\S]*?)\\n// #endregion ${region}`).exec(text)
  if (!match) throw new Error(`examples/${file} has no region ${region}`)
  return match[1]
}
