/** Finds the commands that build, lint and test a project, in its own scripts and files. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A command whose exit code tells if it passed. */
export interface Check {
  /** build, types, lint, test, or another name. */
  name: string
  /** Command line for the shell. */
  command: string
}

interface FoundChecks {
  /** Checks that decide if work is done, quick ones first. */
  checks: Check[]
  /** First words of commands that an agent may run without approval. */
  commands: string[]
}

/** Looks for the files of every kind of project. */
export function findChecks(root: string): FoundChecks {
  const has = (name: string) => existsSync(join(root, name))
  const candidates = [
    ...(has('package.json') ? scripts(root, has) : []),
    ...(has('Cargo.toml') ? cargo : []),
    ...(has('go.mod') ? go : []),
    ...(has('pyproject.toml') || has('pytest.ini') ? python : []),
    ...(has('Makefile') ? targets(root) : []),
  ]
  const checks = candidates.flatMap(({ name, command, isRun = true }) => (isRun ? [{ name, command }] : []))
  return { checks: uniqueNames(sorted(checks)), commands: candidates.map(({ allows, command }) => allows ?? command) }
}

interface Candidate extends Check {
  /** First words that an agent may run. Default: the whole command. */
  allows?: string
  /** False for a command that other checks include. */
  isRun?: boolean
}

const cargo: readonly Candidate[] = [
  { name: 'test', command: 'cargo test' },
  { name: 'build', command: 'cargo check' },
  // Missing in some toolchains.
  { name: 'lint', command: 'cargo clippy', isRun: false },
]

const go: readonly Candidate[] = [
  { name: 'test', command: 'go test ./...', allows: 'go test' },
  { name: 'lint', command: 'go vet ./...', allows: 'go vet' },
  { name: 'build', command: 'go build ./...', allows: 'go build' },
]

const python: readonly Candidate[] = [
  { name: 'test', command: 'pytest' },
  { name: 'test', command: 'python -m pytest', isRun: false },
]

const order = ['build', 'types', 'typecheck', 'lint', 'check', 'test']

function scripts(root: string, has: (name: string) => boolean): Candidate[] {
  const runner = has('pnpm-lock.yaml') ? 'pnpm' : has('yarn.lock') ? 'yarn' : has('bun.lock') ? 'bun run' : 'npm run'
  // The test that `npm init` writes fails by design.
  const usableScripts = scriptsIn(join(root, 'package.json')).filter(([, script]) => !/no test specified/.test(script))
  const names = usableScripts.map(([name]) => name)
  return ['test', 'check', 'lint', 'types', 'typecheck', 'build'].flatMap(name => {
    if (!names.includes(name)) return []
    const command = name === 'test' && runner === 'npm run' ? 'npm test' : `${runner} ${name}`
    // `check` mostly runs all others.
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

function targets(root: string): Candidate[] {
  const text = readFileSync(join(root, 'Makefile'), 'utf8')
  return ['test', 'lint', 'build'].flatMap(name =>
    new RegExp(`^${name}:`, 'm').test(text) ? [{ name, command: `make ${name}` }] : [],
  )
}

function sorted(checks: readonly Check[]): Check[] {
  const rank = ({ name }: Check) => order.indexOf(name)
  return [...checks].sort((left, right) => rank(left) - rank(right))
}

/** A second check of the same name gets its command as the name. */
function uniqueNames(checks: readonly Check[]): Check[] {
  const usedNames = new Set<string>()
  return checks.map(({ name, command }) => {
    const uniqueName = usedNames.has(name) ? command : name
    usedNames.add(uniqueName)
    return { name: uniqueName, command }
  })
}
