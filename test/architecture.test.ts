/** The rooms of `src` import each other as the table in ARCHITECTURE.md says, without cycles. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, 'src')

/** Reads the table of rooms: each room with the rooms it may import. */
function allowances(): Map<string, string[]> {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const table = text
    .slice(text.indexOf('## Rooms, and who may import whom'))
    .split('\n\n')
    .find(block => block.startsWith('|'))
  const rows = (table ?? '').split('\n').slice(2)
  return new Map(
    rows.map(row => {
      const [, room = '', , allowed = ''] = row.split('|').map(cell => cell.trim())
      return [room, allowed === '–' ? [] : allowed.split(/,\s*/)]
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

/** The row of the table a file belongs to: a folder two levels deep, with its subfolders, or the file itself at the top. */
function roomOf(file: string): string {
  const parts = relative(source, file).split('/')
  const [district = '', room = ''] = parts
  if (parts.length <= 2) return district
  if (district === 'cli' || (district === 'server' && room !== 'contract')) return district
  return `${district}/${room}`
}

it('every import keeps to the import table of ARCHITECTURE.md', () => {
  const table = allowances()
  expect(table.size).toBeGreaterThan(5)
  const offences: string[] = []
  for (const { from, to, onDemand } of sources().flatMap(importsOf)) {
    const [here, there] = [roomOf(from), roomOf(to)]
    if (here === there || there === 'errors.ts' || there === 'timers.ts') continue
    const may = table
      .get(here)
      ?.some(rule => rule === 'anything' || rule === there || (onDemand && rule === `${there} (on demand)`))
    if (!may) offences.push(`${relative(root, from)} imports ${relative(root, to)}`)
  }
  expect(offences).toEqual([])
})

it('every room of src has a row in the table', () => {
  const table = allowances()
  const rooms = new Set(sources().map(roomOf))
  rooms.delete('errors.ts')
  expect([...rooms].filter(room => !table.has(room))).toEqual([])
  expect([...table.keys()].filter(room => room !== 'web' && !rooms.has(room))).toEqual([])
})

it('the walks and the table of concepts of ARCHITECTURE.md name only files that exist', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const paths = [...text.matchAll(/`(?:src\/)?((?!src\/)[a-z-]+\/[a-z/-]+\.ts)`/g)].map(([, path]) => path!)
  expect(paths.length).toBeGreaterThan(100)
  expect(paths.filter(path => !existsSync(join(source, path)))).toEqual([])
})

it('the pages import the client and nothing else of the package', () => {
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

it('the port for stores has at most 20 methods', () => {
  const interfaces = new Map<string, { parents: string[]; methods: string[] }>()
  for (const file of sources().filter(name => dirname(name) === join(source, 'log'))) {
    const text = readFileSync(file, 'utf8')
    for (const [, name, parents = '', body] of text.matchAll(
      /^export interface (\w+)(?:\s+extends\s+([^{]+))? \{\n(.*?)^\}/gms,
    )) {
      const methods = [...body!.matchAll(/^ {2}(\w+)\??[(<:]/gm)].map(([, method]) => method!)
      interfaces.set(name!, { parents: parents.split(',').map(parent => parent.trim()), methods })
    }
  }
  const methodsOf = (name: string): string[] => {
    const { parents, methods } = interfaces.get(name) ?? { parents: [], methods: [] }
    return [...parents.flatMap(methodsOf), ...methods]
  }
  const methods = methodsOf('Store')
  expect(methods).toEqual(expect.arrayContaining(['append', 'claim', 'measure', 'putNode', 'heads', 'upkeep', 'close']))
  expect(methods.length).toBeLessThanOrEqual(20)
})

it('the source has no import cycles, types included', () => {
  const graph = new Map(
    sources().map(file => [
      file,
      importsOf(file)
        .filter(one => !one.onDemand)
        .map(one => one.to),
    ]),
  )
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].map(one => relative(source, one)).join(' → '))
      return
    }
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  expect(cycles).toEqual([])
})

it('the pure rooms are free of clocks, chance and the outside', () => {
  const pure = [
    'log/events',
    'log/commands',
    'log/views',
    'request/text',
    'request/assembly',
    'request/compaction',
    'exchange/formats',
  ]
  const impure =
    /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\brandomUUID\b|from 'node:(fs|net|http|child_process|crypto)/
  const offences = sources()
    .filter(file => pure.includes(roomOf(file)))
    .filter(file => impure.test(readFileSync(file, 'utf8')))
    .map(file => relative(root, file))
  expect(offences).toEqual([])
})
