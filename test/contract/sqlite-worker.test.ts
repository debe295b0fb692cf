/** A worker of the store that fails as a whole: its callers get an error of the store. */
import { execFileSync } from 'node:child_process'
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(dirname(here))

/** Copies the built store with another worker in it; returns the door to it. */
function storeWith(worker: string): { door: string; path: string } {
  const folder = temporaryFolder()
  const isProgram = (path: string) => !/[\\/](web|types)$/.test(path)
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true, filter: isProgram })
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'dist/sqlite-worker.js'), worker)
  const door = pathToFileURL(join(folder, 'dist/sqlite.js')).href
  return { door, path: join(folder, 'colloquy.db') }
}

it.each([
  ['fails', `throw new Error('no luck')`, /^store\/failed: .*no luck/],
  ['exits without an error', 'process.exit(0)', /^store\/failed: .*it exited/],
])('a worker that %s is reported to each caller that waits for it, each time', (_how, worker, words) => {
  const { door, path } = storeWith(worker)
  const program = join(here, 'processes/ask-worker.mjs')
  const output = execFileSync(process.execPath, [program, door, path], { timeout: 20_000, encoding: 'utf8' })
  expect(JSON.parse(output)).toEqual(Array.from({ length: 4 }, () => expect.stringMatching(words)))
})
