/**
 * `npm test`: installs what is missing, builds, and runs everything there is to check: lint, types, tests. Ends with a
 * line `N passed, N failed`. Arguments are handed to the test runner: `npm test -- leases`.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, run, say, setUp } from './setup.mjs'

setUp()
const bin = (...names) => join(root, 'node_modules', ...names)
const only = process.argv.slice(2)

if (only.length === 0) {
  say('Linting.')
  run(process.execPath, [bin('@biomejs', 'biome', 'bin', 'biome'), 'check', '--error-on-warnings'])
  say('Checking types of sources, tests, pages, examples and benchmarks.')
  for (const project of ['tsconfig.test.json', 'test/browser', 'web']) {
    run(process.execPath, [bin('typescript', 'bin', 'tsc'), '-p', project])
  }
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
