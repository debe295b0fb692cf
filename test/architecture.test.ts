/** The folders import each other as the table in ARCHITECTURE.md says, and in no circle. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'src')

/** Who may import whom, read from the table under "Who may import whom". */
function allowances(): Map<string, string[]> {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const table = text
    .slice(text.indexOf('## Who may import whom'))
    .split('\n\n')
    .find(block => block.startsWith('|'))
  const rows = (table ?? '').split('\n').slice(2)
  return new Map(
    rows.map(row => {
      const [, folder = '', allowed = ''] = row.split('|').map(cell => cell.trim())
      return [folder, allowed === '–' ? [] : allowed.split(/,\s*/)]
    }),
  )
}

interface Import {
  from: string
  to: string
  onDemand: boolean
}

function sources(): string[] {
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map(name => join(source, name))
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8')
  const found: Import[] = []
  // Ours end in .ts; what programs in the demo's texts import does not.
  for (const [, path] of text.matchAll(/(?:^|\n)(?:import|export)\b(?:[^'"=]*?\bfrom)?\s*['"](\.[^'"]+\.ts)['"]/g)) {
    found.push({ from: file, to: resolve(dirname(file), path!), onDemand: false })
  }
  for (const [, path] of text.matchAll(/\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/g)) {
    found.push({ from: file, to: resolve(dirname(file), path!), onDemand: true })
  }
  return found
}

/**
 * The row of the table a file belongs to: its folder, or the file itself at the top. Each store, each format, each
 * implementation of the model port, and the contract of the server is a folder of its own.
 */
function folderOf(file: string): string {
  const parts = relative(source, file).split('/')
  if (parts.length === 1) return parts[0]!
  const isDeeper =
    parts[0] === 'stores' ||
    parts[0] === 'formats' ||
    (parts[0] === 'models' && parts.length > 2) ||
    (parts[0] === 'server' && parts[1] === 'contract')
  return isDeeper ? `${parts[0]}/${parts[1]}` : parts[0]!
}

it('keeps to the import table of ARCHITECTURE.md', () => {
  const table = allowances()
  expect(table.size).toBeGreaterThan(5)
  const offences: string[] = []
  for (const { from, to, onDemand } of sources().flatMap(importsOf)) {
    const [here, there] = [folderOf(from), folderOf(to)]
    if (here === there || there === 'errors.ts') continue
    const allowed = table.get(here) ?? table.get(here.replace(/\/.*/, '/x'))
    const named = (name: string) => name === there || name === there.replace(/\/.*/, '/x')
    const may = allowed?.some(
      rule => rule === 'anything' || named(rule) || (onDemand && named(rule.replace(/ \(on demand\)$/, ''))),
    )
    if (!may) offences.push(`${relative(root, from)} imports ${relative(root, to)}`)
  }
  expect(offences).toEqual([])
})

it('has a row in the table for every folder of src', () => {
  const table = allowances()
  const folders = new Set(sources().map(file => folderOf(file).replace(/^(stores|models|formats)\/.*/, '$1/x')))
  folders.delete('errors.ts')
  expect([...folders].filter(folder => !table.has(folder))).toEqual([])
})

it('lets the pages know the client and nothing else of the package', () => {
  const folder = join(root, 'web', 'src')
  const allowed = new Set([
    'react',
    'react-dom/client',
    ...(allowances().get('web') ?? []).map(name => `colloquy/${name}`),
  ])
  const offences = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => /\.tsx?$/.test(name) && !/\.test\.ts$/.test(name))
    .flatMap(name => {
      const text = readFileSync(join(folder, name), 'utf8')
      const paths = [...text.matchAll(/(?:^import |\} from |\* from |^import \w+ from |\bimport\()'([^']+)'/gm)].map(
        ([, path]) => path!,
      )
      return paths
        .filter(path =>
          path.startsWith('.')
            ? relative(folder, resolve(folder, dirname(name), path)).startsWith('..')
            : !allowed.has(path),
        )
        .map(path => `web/src/${name} imports ${path}`)
    })
  expect(offences).toEqual([])
})

it('has no import circles, types included', () => {
  const graph = new Map(
    sources().map(file => [
      file,
      importsOf(file)
        .filter(one => !one.onDemand)
        .map(one => one.to),
    ]),
  )
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) {
      circles.push([...path.slice(path.indexOf(file)), file].map(one => relative(source, one)).join(' → '))
      return
    }
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  expect(circles).toEqual([])
})

it('keeps the pure folders free of clocks, chance and the outside', () => {
  const pure = ['events', 'commands', 'views', 'request', 'compaction', 'formats/beads']
  const impure =
    /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\brandomUUID\b|from 'node:(fs|net|http|child_process|crypto)/
  const offences = sources()
    .filter(file => pure.includes(folderOf(file)))
    .filter(file => impure.test(readFileSync(file, 'utf8')))
    .map(file => relative(root, file))
  expect(offences).toEqual([])
})
