/** The last 50 messages of a session, as an agent reads them before each turn. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { bareRows, bareStore } from './baselines/bare.ts'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { median, Rounds, timed } from './support/measure.ts'
import { buildHistory, openAt, paddingLike } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { manyMessages } from './support/text.ts'
import { count, milliseconds } from './support/units.ts'

export const read: Benchmark = {
  name: 'read',
  title: 'Read the last 50 messages',
  about:
    '`getRecentMessages(session, 50)`, next to a bare prepared select of the same 50 rows through an index, with the same facts and bytes.',
  run: (sizes, tell) => inTemporaryFolder(folder => run(folder, sizes, tell)),
}

async function run(folder: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const size of sizes.histories) {
    const messages = size === 0 ? 50 : size
    tell(`history of ${count(messages)}`)
    const at = join(folder, String(size))
    mkdirSync(at)
    findings.push(await atSize(at, messages, sizes))
  }
  return findings
}

async function atSize(folder: string, size: number, sizes: Sizes): Promise<Finding> {
  const { path, session } = await buildHistory(join(folder, 'ours.db'), size, size)
  const bare = bareStore(join(folder, 'bare.db'))
  bare.insertAll(bareRows(manyMessages(size, size), { conversation: 1, padding: paddingLike(path) }))
  const colloquy = await openAt(path)
  const rounds = new Rounds()
  const often = { times: sizes.perRound, atMostMs: sizes.roundMs }
  try {
    for (let round = -1; round < sizes.rounds; round++) {
      const baseline = median(await timed(often, () => bare.last(1, 50)))
      const ours = median(await timed(often, () => colloquy.sessions.getRecentMessages(session, 50)))
      if (round >= 0) rounds.add({ baseline, ours })
    }
  } finally {
    bare.close()
    await colloquy.close()
  }
  return {
    what: `history of ${count(size)}`,
    ours: milliseconds(median(rounds.ours)),
    baseline: milliseconds(median(rounds.baseline)),
    ratio: rounds.ratio,
    spread: rounds.spread,
    target: { atMost: 2 },
  }
}
