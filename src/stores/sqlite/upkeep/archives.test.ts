/** Whatever becomes of a restore, the worker keeps nothing of it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../database.ts'
import { makeSchema } from '../open-schema.ts'
import type { WorkerClient } from '../worker/client.ts'
import { restoreLines } from './archives.ts'
import { importer } from './import.ts'

const blob = JSON.stringify({ blob: 'x', json: '"y"' })

/** What the worker has, without its thread. */
function workerSide(): { side: WorkerClient; underWay: () => number } {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-archives-'))
  const database = openDatabase({ path: join(folder, 'colloquy.db'), durability: 'relaxed' })
  makeSchema(database)
  onTestFinished(() => {
    database.close()
    rmSync(folder, { recursive: true })
  })
  const { page, abandon, underWay } = importer(database)
  const handlers: Record<string, (input: never) => unknown> = { restorePage: page, abandonRestore: abandon }
  const side: WorkerClient = {
    call: async (operation, input) => handlers[operation]!(input as never) as never,
    close: async () => undefined,
  }
  return { side, underWay }
}

/** Two pages and more, and then what is given: a line, or an error. */
async function* archive(end: string | Error): AsyncGenerator<string> {
  for (let line = 0; line < 1100; line++) yield blob
  if (end instanceof Error) throw end
  yield end
}

it.each([
  ['whose file cannot be read to its end', new Error('cut off'), 'cut off'],
  ['with a line that is none', '{', 'not JSON'],
  ['that is none', blob, 'no heading'],
])('an archive %s leaves no lines behind', async (_what, end, reason) => {
  const { side, underWay } = workerSide()
  await expect(restoreLines(side, { project: 'shop', lines: archive(end), now: 0 })).rejects.toThrow(reason)
  expect(underWay()).toBe(0)
})
