/**
 * `npm test`: installs what is missing, builds, and runs everything there is to check: lint, types, tests. Ends with a
 * line `N passed, N failed`. Arguments are handed to the test runner: `npm test -- leases`.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, say, setUp } from './setup.mjs'

setUp()
const bin = (...names) => join(root, 'node_modules', ...names)
const only = process.argv.slice(2)

if (only.length === 0) {
  say('Linting, and checking types of sources, tests, pages, examples and benchmarks.')
  const tsc = bin('typescript', 'bin', 'tsc')
  const checks = [
    [bin('@biomejs', 'biome', 'bin', 'biome'), 'check', '--error-on-warnings'],
    [join(root, 'scripts', 'style.mjs')],
    ...['tsconfig.test.json', 'test/browser', 'web'].map(project => [tsc, '-p', project]),
  ]
  const failures = (await Promise.all(checks.map(runCheck))).filter(code => code !== 0)
  if (failures.length > 0) process.exit(1)
}

say('Testing.')
const folder = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
const report = join(folder, 'report.json')
const arguments_ = [
  bin('vitest', 'vitest.mjs'),
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
]
const { status } = spawnSync(process.execPath, [...arguments_, ...only], { cwd: root, stdio: 'inherit' })
let counts = { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0 }
try {
  counts = JSON.parse(readFileSync(report, 'utf8'))
} catch {
  say('The test runner left no report.')
}
rmSync(folder, { recursive: true, force: true })
const failed = counts.numFailedTests || (status === 0 ? 0 : 1)
const skipped = counts.numPendingTests > 0 ? `, ${counts.numPendingTests} skipped` : ''
console.log(`${counts.numPassedTests} passed, ${failed} failed${skipped}`)
process.exit(status ?? 1)

/** Checks run at the same time, so each prints its output in one piece. */
function runCheck(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', text => {
        output += text
      })
    }
    child.on('error', reject)
    child.on('close', code => {
      process.stdout.write(output)
      resolve(code)
    })
  })
}
