/** The team that codes and the demo are read when they are used, and not before. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

const folder = mkdtempSync(join(tmpdir(), 'colloquy-loaded-'))
const store = `sqlite:${join(folder, 'colloquy.db')}`

/** The files of `dist` that Node executed. V8's coverage lists them all. */
function loadedBy(...args: string[]): string[] {
  const coverage = mkdtempSync(join(folder, 'coverage-'))
  execFileSync(process.execPath, args, {
    cwd: folder,
    stdio: 'ignore',
    env: { ...process.env, COLLOQUY_STORE: store, NODE_V8_COVERAGE: coverage },
  })
  const urls = new Set<string>()
  for (const name of readdirSync(coverage)) {
    const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8'))
    for (const { url } of result as { url: string }[]) if (url.startsWith('file:')) urls.add(url)
  }
  return [...urls].map(url => fileURLToPath(url)).filter(path => path.startsWith(join(root, 'dist')))
}

/** Names of the functions that these folders export and nothing else in `src` declares. They are the same in `dist`. */
function functionsOnlyIn(folders: readonly string[]): string[] {
  const names = { inside: new Set<string>(), outside: new Set<string>() }
  for (const path of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.ts') || path.endsWith('.test.ts')) continue
    const isInside = folders.some(folder => path.startsWith(folder))
    const text = readFileSync(join(root, 'src', path), 'utf8')
    const declarations = isInside ? /^export (?:async )?function (\w+)/gm : /\bfunction (\w+)/g
    for (const [, name] of text.matchAll(declarations)) (isInside ? names.inside : names.outside).add(name!)
  }
  return [...names.inside].filter(name => !names.outside.has(name))
}

const teamFunctions = functionsOnlyIn(['agents/building', 'app/demo'])

function teamIn(files: readonly string[]): string[] {
  const text = files.map(file => readFileSync(file, 'utf8')).join('\n')
  return teamFunctions.filter(name => new RegExp(`function ${name}\\b`).test(text))
}

it('The door colloquy/building loads the team.', () => {
  const files = loadedBy('--input-type=module', '--eval', `await import('${join(root, 'dist', 'building.js')}')`)
  expect(teamIn(files)).toContain('runFeature')
})

it.each(['index', 'sqlite', 'server'])('The door %s loads nothing of the team that codes or of the demo.', door => {
  const files = loadedBy('--input-type=module', '--eval', `await import('${join(root, 'dist', `${door}.js`)}')`)
  expect(files.length).toBeGreaterThan(0)
  expect(teamIn(files)).toEqual([])
})

it('Commands without a team load nothing of the team that codes or of the demo.', () => {
  const cli = join(root, 'dist', 'cli.js')
  for (const args of [['chat', '--help'], ['feature', 'add', 'Login'], ['list'], ['--version']]) {
    expect(teamIn(loadedBy(cli, ...args))).toEqual([])
  }
})
