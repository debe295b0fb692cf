/** Opening a large store for one query: it must read only what the query needs. */
import { join } from 'node:path'
import { bareOpenAndAsk, bareRow, bareStore } from './baselines/bare.ts'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { largeStore } from './support/large-store.ts'
import { median, Rounds } from './support/measure.ts'
import { openAt, paddingLike } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { messages, randomFrom } from './support/text.ts'
import { count, milliseconds } from './support/units.ts'

export const open: Benchmark = {
  name: 'open',
  title: 'Open a large store and ask one thing',
  about:
    'From closed to the last 50 messages of one session, in a process that has its modules loaded, next to a bare open and the same select. Another session each time; closing is not counted. `docs/internals/performance.md` says where the time goes.',
  run,
}

async function run(sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const { conversations, messagesEach, times } = sizes.open
  const { folder, path, sessions } = await largeStore(sizes.open, tell)
  tell('building the baseline')
  const barePath = join(folder, 'bare.db')
  buildBare(barePath, { conversations, messagesEach, padding: paddingLike(path) })
  const random = randomFrom(11)
  const rounds = new Rounds()
  tell('opening')
  for (let time = -5; time < times; time++) {
    const which = Math.floor(random() * sessions.length)
    const bareStart = performance.now()
    const closeBare = bareOpenAndAsk(barePath, which + 1, 50)
    const baseline = performance.now() - bareStart
    closeBare()
    const start = performance.now()
    const colloquy = await openAt(path)
    const recentMessages = await colloquy.sessions.getRecentMessages(sessions[which]!, 50)
    const ours = performance.now() - start
    await colloquy.close()
    if (recentMessages.length !== Math.min(50, messagesEach))
      throw new Error(`Found ${recentMessages.length} messages.`)
    if (time >= 0) rounds.add({ baseline, ours })
  }
  return [
    {
      what: `${count(conversations)} conversations of ${count(messagesEach)} messages`,
      ours: milliseconds(median(rounds.ours)),
      baseline: milliseconds(median(rounds.baseline)),
      ratio: rounds.ratio,
      target: { atMost: 2 },
    },
  ]
}

function buildBare(
  path: string,
  { conversations, messagesEach, padding }: { conversations: number; messagesEach: number; padding: string },
): void {
  const next = messages(7)
  const bare = bareStore(path)
  bare.insertAll(
    (function* () {
      // Interleaved as in ours, where many conversations grow at the same time.
      for (let start = 1; start <= conversations; start += 64) {
        for (let version = 1; version <= messagesEach; version++) {
          for (let index = start; index < Math.min(start + 64, conversations + 1); index++) {
            yield bareRow(next(), { conversation: index, version, padding })
          }
        }
      }
    })(),
  )
  bare.close()
}
