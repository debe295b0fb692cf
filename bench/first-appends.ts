/**
 * The first messages of a new file, where most programs spend their life.
 *
 * Apart from the steady state in `append.ts`, because SQLite's write-ahead log grows there: each sync then waits for the
 * file system to allocate blocks, until the log is overwritten in place. Ours is grown ahead.
 */
import { join } from 'node:path'
import { bareRow, bareStore } from './bare.ts'
import type { Finding } from './benchmark.ts'
import { inTemporaryFolder } from './folder.ts'
import { median, Rounds, timed } from './measure.ts'
import { newSession, openAt, type Tokens } from './ours.ts'
import type { Sizes } from './sizes.ts'
import { manyMessages } from './text.ts'
import { count, milliseconds } from './units.ts'

/** About as many as fit into the baseline's log before it is moved into the file for the first time. */
const most = 300

export async function firstAppends(sizes: Sizes, tokens: Tokens, padding: string): Promise<Finding> {
  const often = { times: Math.min(most, sizes.perRound), atMostMs: sizes.roundMs }
  const rounds = new Rounds()
  for (let round = 0; round < sizes.rounds; round++) {
    const texts = manyMessages(often.times, 1000 + round)
    await inTemporaryFolder(async folder => {
      const bare = bareStore(join(folder, 'bare.db'))
      const rows = texts.map((text, index) => bareRow(text, { conversation: 1, version: index + 1, padding }))
      const baseline = median(await timed(often, index => bare.insert(rows[index]!)))
      bare.close()
      const colloquy = await openAt(join(folder, 'ours.db'), { tokens })
      const session = await newSession(colloquy, 'first')
      const ours = median(
        await timed(often, index => colloquy.sessions.addMessage(session, { role: 'user', content: texts[index]! })),
      )
      await colloquy.close()
      rounds.add({ baseline, ours })
    })
  }
  return {
    what: `new file, its first ${count(often.times)}, ${tokens} token counts`,
    ours: milliseconds(median(rounds.ours)),
    baseline: milliseconds(median(rounds.baseline)),
    ratio: rounds.ratio,
    spread: rounds.spread,
    target: { atMost: 1.2 },
  }
}
