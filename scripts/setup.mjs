/**
 * Makes a fresh clone ready: installs when something is missing or older than the lockfile, builds when sources are
 * newer than the build. Uses nothing but Node, because it runs before anything is installed.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const at = (...names) => join(root, ...names)
const timeOf = path => (existsSync(path) ? statSync(path).mtimeMs : 0)

export function setUp() {
  refuseOldNode()
  install()
  build()
  buildUi()
}

export function install() {
  const installed = timeOf(at('node_modules', '.package-lock.json'))
  const wanted = Math.max(timeOf(at('package-lock.json')), timeOf(at('package.json')))
  const canGoOn = existsSync(at('node_modules', 'typescript')) || (isBuilt() && isUiBuilt())
  if (installed >= wanted && canGoOn) return
  if (!installed) say('Installing dependencies.')
  else say(canGoOn ? 'The lockfile is newer than what is installed: installing.' : 'Installing what it is built with.')
  // Said, because npm leaves out what builds where NODE_ENV is production.
  run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'])
  // npm keeps the time of an identical lockfile; without this the next start would install again.
  const now = new Date()
  utimesSync(at('node_modules', '.package-lock.json'), now, now)
}

const built = at('dist', '.built')
const uiBuilt = at('dist', '.built-ui')

export function build() {
  if (isBuilt()) return
  say('Building.')
  rmSync(at('dist', 'types'), { recursive: true, force: true })
  run(process.execPath, [at('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.json'])
  removeParts()
  run(process.execPath, [at('scripts', 'bundle.mjs')])
  writeFileSync(built, '')
}

/** Removes the parts of an earlier build, whose names differ each time, once the sources are known to compile. */
function removeParts() {
  for (const entry of readdirSync(at('dist'), { withFileTypes: true })) {
    if (entry.isFile() && at('dist', entry.name) !== uiBuilt) rmSync(at('dist', entry.name))
  }
}

/** The UI, after what it is made of: the client of the same build. */
export function buildUi() {
  if (isUiBuilt()) return
  say('Building the UI.')
  run(process.execPath, [at('node_modules', 'vite', 'bin', 'vite.js'), 'build', at('web'), '--logLevel', 'error'])
  writeFileSync(uiBuilt, '')
}

function isBuilt() {
  const makers = [at('tsconfig.json'), at('package.json'), at('scripts', 'bundle.mjs')]
  const newest = Math.max(newestIn(at('src')), ...makers.map(timeOf))
  return timeOf(built) >= newest
}

function isUiBuilt() {
  const parts = [at('web'), at('src', 'client'), at('src', 'server', 'contract'), at('src', 'log')]
  return timeOf(uiBuilt) >= Math.max(...parts.map(newestIn), timeOf(at('package-lock.json')))
}

function newestIn(folder) {
  let newest = 0
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    newest = Math.max(newest, statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs)
  }
  return newest
}

function refuseOldNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  console.error(`Colloquy needs Node 20.19 or newer; this is ${process.versions.node}.`)
  process.exit(1)
}

export function run(command, args, options = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
    ...options,
  })
  if (result.status !== 0) {
    say(`${[command, ...args].join(' ')} failed${result.error ? `: ${result.error.message}` : ''}.`)
    process.exit(result.status ?? 1)
  }
}

export function say(text) {
  console.log(`colloquy: ${text}`)
}
