/** How a project says that it is whole: its own scripts and files name the commands that build, lint and test it. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A command that tells by its exit code whether something of the project is as it should be. */
export interface Check {
  /** build, types, lint, test, or a name of the project's. */
  name: string
  /** A line for the shell. */
  command: string
}

interface FoundChecks {
  /** What is run to see whether work is done, the quickest to fail first. */
  checks: Check[]
  /** First words of commands that an agent may run by itself, to check its work. */
  commands: string[]
}

/** By the files of every kind of project that is there; none where nothing says how. */
export function findChecks(root: string): FoundChecks {
  const has = (name: string) => existsSync(join(root, name))
  const found = [
    ...(has('package.json') ? scripts(root, has) : []),
    ...(has('Cargo.toml') ? cargo : []),
    ...(has('go.mod') ? go : []),
    ...(has('pyproject.toml') || has('pytest.ini') ? python : []),
    ...(has('Makefile') ? targets(root) : []),
  ]
  const checks = found.flatMap(({ name, command, isRun = true }) => (isRun ? [{ name, command }] : []))
  return { checks: told(ordered(checks)), commands: found.map(({ allows, command }) => allows ?? command) }
}

interface Found extends Check {
  /** First words that an agent may use in other ways, too. */
  allows?: string
  /** False for what the others do already. */
  isRun?: boolean
}

const cargo: readonly Found[] = [
  { name: 'test', command: 'cargo test' },
  { name: 'build', command: 'cargo check' },
  // Not every toolchain has it.
  { name: 'lint', command: 'cargo clippy', isRun: false },
]

const go: readonly Found[] = [
  { name: 'test', command: 'go test ./...', allows: 'go test' },
  { name: 'lint', command: 'go vet ./...', allows: 'go vet' },
  { name: 'build', command: 'go build ./...', allows: 'go build' },
]

const python: readonly Found[] = [
  { name: 'test', command: 'pytest' },
  { name: 'test', command: 'python -m pytest', isRun: false },
]

const order = ['build', 'types', 'typecheck', 'lint', 'check', 'test']

function scripts(root: string, has: (name: string) => boolean): Found[] {
  const runner = has('pnpm-lock.yaml') ? 'pnpm' : has('yarn.lock') ? 'yarn' : has('bun.lock') ? 'bun run' : 'npm run'
  // What `npm init` writes as the test fails by design.
  const known = scriptsIn(join(root, 'package.json')).filter(([, script]) => !/no test specified/.test(script))
  const names = known.map(([name]) => name)
  return ['test', 'check', 'lint', 'types', 'typecheck', 'build'].flatMap(name => {
    if (!names.includes(name)) return []
    const command = name === 'test' && runner === 'npm run' ? 'npm test' : `${runner} ${name}`
    // `check` mostly is all of the others once more.
    return [{ name, command, isRun: name !== 'check' || !names.includes('test') }]
  })
}

function scriptsIn(file: string): Array<[name: string, script: string]> {
  try {
    const { scripts } = JSON.parse(readFileSync(file, 'utf8')) as { scripts?: Record<string, unknown> }
    return Object.entries(scripts ?? {}).map(([name, script]) => [name, String(script)])
  } catch {
    return []
  }
}

function targets(root: string): Found[] {
  const text = readFileSync(join(root, 'Makefile'), 'utf8')
  return ['test', 'lint', 'build'].flatMap(name =>
    new RegExp(`^${name}:`, 'm').test(text) ? [{ name, command: `make ${name}` }] : [],
  )
}

function ordered(checks: readonly Check[]): Check[] {
  const rank = ({ name }: Check) => order.indexOf(name)
  return [...checks].sort((one, other) => rank(one) - rank(other))
}

/** A project of several kinds has several tests: each gets a name of its own. */
function told(checks: readonly Check[]): Check[] {
  const taken = new Set<string>()
  return checks.map(({ name, command }) => {
    const own = taken.has(name) ? command : name
    taken.add(own)
    return { name: own, command }
  })
}
