/**
 * The first messages after a file was opened, where most programs spend their life.
 *
 * Apart from the steady state in `append.ts`, because SQLite's write-ahead log grows there: each sync then waits for the
 * file system to allocate blocks, until the log is overwritten in place. Ours is grown ahead.
 */
import { join } from 'node:path'
import { bareRow, bareStore } from './baselines/bare.ts'
import type { Finding } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { median, Rounds, timed } from './support/measure.ts'
import { checkpoint, newSession, openAt, type Tokens } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { manyMessages } from './support/text.ts'
import { count, milliseconds } from './support/units.ts'

/** About as many as fit into the baseline's log before it is moved into the file for the first time. */
const maxAppends = 300

/** Two closed files with histories of the same length. */
export interface ClosedFiles {
  size: number
  padding: string
  ours: Record<Tokens, string>
  bare: string
  /** The session that the history is of. */
  session: string
}

export async function firstAppends(sizes: Sizes, tokens: Tokens, files: ClosedFiles): Promise<Finding> {
  const often = { times: Math.min(maxAppends, sizes.perRound), atMostMs: sizes.roundMs }
  const rounds = new Rounds()
  for (let round = 0; round < sizes.rounds; round++) {
    const texts = manyMessages(often.times, 1000 + round)
    const appendsOnce = (places: Places) => appends(texts, { ...places, padding: files.padding, often, tokens, round })
    const { size, bare, ours, session } = files
    if (size > 0) rounds.add(await appendsOnce({ bare, ours: ours[tokens], session }))
    else {
      await inTemporaryFolder(async folder => {
        rounds.add(await appendsOnce({ bare: join(folder, 'bare.db'), ours: join(folder, 'ours.db') }))
      })
    }
  }
  return {
    what: `history of ${count(files.size)}, just opened, ${tokens} token counts`,
    ours: milliseconds(median(rounds.ours)),
    baseline: milliseconds(median(rounds.baseline)),
    ratio: rounds.ratio,
    spread: rounds.spread,
    target: { atMost: 1.2 },
  }
}

interface Places {
  bare: string
  ours: string
  /** Undefined in a new file. */
  session?: string
}

interface Appends extends Places {
  padding: string
  often: { times: number; atMostMs: number }
  tokens: Tokens
  round: number
}

async function appends(
  texts: readonly string[],
  { bare: barePath, ours: path, session: known, padding, often, tokens, round }: Appends,
): Promise<{ baseline: number; ours: number }> {
  // As a program leaves it that ends: the driver keeps the log of a file that was closed.
  if (known !== undefined) checkpoint(barePath)
  const bare = bareStore(barePath)
  const first = 1_000_000 * (round + 1)
  const rows = texts.map((text, index) => bareRow(text, { conversation: 1, version: first + index, padding }))
  const baseline = median(await timed(often, index => bare.insert(rows[index]!)))
  bare.close()
  const colloquy = await openAt(path, { tokens })
  const session = known ?? (await newSession(colloquy, 'first'))
  const ours = median(
    await timed(often, index => colloquy.sessions.addMessage(session, { role: 'user', content: texts[index]! })),
  )
  await colloquy.close()
  return { baseline, ours }
}
