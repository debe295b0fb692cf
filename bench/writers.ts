/** Many callers at once in one process: how many messages a second, the full-text index caught up. */
import { join } from 'node:path'
import type { Colloquy } from 'colloquy'
import { bareRow, bareStore } from './baselines/bare.ts'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { median, Rounds, secondsOf } from './support/measure.ts'
import { addAll, caughtUp, newSession, openAt, paddingLike, type Tokens } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { manyMessages } from './support/text.ts'
import { perSecond } from './support/units.ts'

export const writers: Benchmark = {
  name: 'writers',
  title: '64 concurrent appenders',
  about:
    'Each caller has a session of its own and waits for its message before it writes the next. The baseline groups its inserts the same way: queued, one commit per tick, each caller told after the commit. Our clock stops only when a search has taken in everything.',
  run: (sizes, tell) => inTemporaryFolder(folder => run(folder, sizes, tell)),
}

const targets: ReadonlyArray<{ tokens: Tokens; atLeast: number }> = [
  { tokens: 'exact', atLeast: 0.4 },
  { tokens: 'fast', atLeast: 0.7 },
]

/** One store at a time: what the other does when it rests would be felt. */
async function run(folder: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const target of targets) findings.push(...(await runWith(target, { folder, sizes, tell })))
  return findings
}

async function runWith(
  { tokens, atLeast }: (typeof targets)[number],
  { folder, sizes, tell }: { folder: string; sizes: Sizes; tell: Tell },
): Promise<Finding[]> {
  const { rounds, callers, messagesEach } = sizes.writers
  const path = join(folder, `${tokens}.db`)
  const colloquy = await openAt(path, { tokens })
  const sessions = await newSessions(colloquy, callers)
  await addAll(colloquy, sessions[0]!, manyMessages(100, 1))
  const padding = paddingLike(path)
  const bare = bareStore(join(folder, `bare-${tokens}.db`))
  const searchable = new Rounds()
  const acknowledged = new Rounds()
  let seed = 0
  let version = 0

  async function bareRate(): Promise<number> {
    const texts = manyMessages(callers * messagesEach, ++seed)
    const first = version
    version += messagesEach
    const seconds = await secondsOf(() =>
      each(callers, async caller => {
        for (let i = 0; i < messagesEach; i++) {
          const row = { conversation: caller + 1, version: first + i + 1, padding }
          await bare.insertGrouped(bareRow(texts[caller * messagesEach + i]!, row))
        }
      }),
    )
    return texts.length / seconds
  }

  /** Messages a second until the last was acknowledged, and until a search had them all. */
  async function ourRates(): Promise<{ acknowledged: number; searchable: number }> {
    const texts = manyMessages(callers * messagesEach, ++seed)
    const start = performance.now()
    await each(callers, async caller => {
      const session = sessions[caller]!
      for (let i = 0; i < messagesEach; i++) {
        await colloquy.sessions.addMessage(session, { role: 'user', content: texts[caller * messagesEach + i]! })
      }
    })
    const last = performance.now()
    await caughtUp(colloquy)
    const end = performance.now()
    return { acknowledged: (texts.length / (last - start)) * 1000, searchable: (texts.length / (end - start)) * 1000 }
  }

  try {
    for (let round = -1; round < rounds; round++) {
      tell(`${tokens} token counts, ${round < 0 ? 'warming up' : `round ${round + 1} of ${rounds}`}`)
      const baseline = await bareRate()
      const rates = await ourRates()
      if (round < 0) continue
      searchable.add({ baseline, ours: rates.searchable })
      acknowledged.add({ baseline, ours: rates.acknowledged })
    }
  } finally {
    bare.close()
    await colloquy.close()
  }

  return [
    finding(`${tokens} token counts, searchable`, searchable, { atLeast }),
    finding(`${tokens} token counts, acknowledged`, acknowledged),
  ]
}

function finding(what: string, rounds: Rounds, target?: { atLeast: number }): Finding {
  return {
    what,
    ours: perSecond(median(rounds.ours)),
    baseline: perSecond(median(rounds.baseline)),
    ratio: rounds.ratio,
    spread: rounds.spread,
    ...(target && { target }),
  }
}

async function newSessions(colloquy: Colloquy, callers: number): Promise<string[]> {
  return Promise.all(Array.from({ length: callers }, (_, caller) => newSession(colloquy, `writer ${caller}`)))
}

async function each(callers: number, work: (caller: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)))
}
