/** A restore that fails leaves nothing in memory. */
import { expect, it } from 'vitest'
import type { RowStore } from '../rows.ts'
import type { RunUpkeep } from '../upkeep-work.ts'
import { restorer } from './restore.ts'
import { upkeepCalls } from './upkeep-calls.ts'

const blob = JSON.stringify({ blob: 'x', json: '"y"' })

/** Two pages and more, and then an end: a line, or an error. */
async function* archive(end: string | Error): AsyncGenerator<string> {
  for (let line = 0; line < 1100; line++) yield blob
  if (end instanceof Error) throw end
  yield end
}

it.each([
  ['that cannot be read to its end', new Error('cut off'), 'cut off'],
  ['with a line that is not JSON', '{', 'not JSON'],
  ['without a heading', blob, 'no heading'],
])('an archive %s leaves no lines in memory', async (_what, end, reason) => {
  // None of them gets as far as the store.
  const { page, abandon, waiting } = restorer({} as RowStore)
  const run = (async (operation: string, input: never) =>
    operation === 'restorePage' ? page(input) : abandon((input as { ticket: string }).ticket)) as unknown as RunUpkeep
  const missing = async () => undefined
  const { restore } = upkeepCalls({ run, message: missing, conversation: missing, clock: () => 0 })
  const origin = { actor: 'ada', channel: 'test' }
  await expect(restore({ project: 'shop', lines: archive(end), origin })).rejects.toThrow(reason)
  expect(waiting()).toBe(0)
})
