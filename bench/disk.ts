/** Bytes of the file and its index per byte of text. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { addAll, caughtUp, checkpoint, newSession, openAt } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { manyMessages, messageBytes } from './support/text.ts'
import { count, megabytes } from './support/units.ts'

export const disk: Benchmark = {
  name: 'disk',
  title: 'Bytes on disk',
  about:
    'The log with its hash chain, running sums and indexes, and the full-text index in its own file, after closing; next to the text alone.',
  run: (sizes, tell) => inTemporaryFolder(folder => run(folder, sizes, tell)),
}

async function run(folder: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const { messages } = sizes.disk
  tell(`writing ${count(messages)} messages`)
  const colloquy = await openAt(join(folder, 'ours.db'), { tokens: 'fast', durability: 'relaxed' })
  await addAll(colloquy, await newSession(colloquy, 'disk'), manyMessages(messages, 3))
  await caughtUp(colloquy)
  await colloquy.close()
  checkpoint(join(folder, 'ours.db'))
  checkpoint(join(folder, 'ours.db-search'))
  const raw = messages * messageBytes
  let total = 0
  let index = 0
  for (const name of await readdir(folder)) {
    // The shared memory of open connections; it goes with them.
    if (name.endsWith('-shm')) continue
    const { size } = await stat(join(folder, name))
    total += size
    if (name.includes('-search')) index += size
  }
  return [
    {
      what: `${count(messages)} messages, log and index`,
      ours: megabytes(total),
      baseline: `${megabytes(raw)} of text`,
      ratio: total / raw,
      target: { atMost: 3 },
    },
    { what: 'of it the log', ours: megabytes(total - index), ratio: (total - index) / raw },
    { what: 'of it the full-text index', ours: megabytes(index), ratio: index / raw },
  ]
}
