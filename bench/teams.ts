/** A team on one conversation, short and very long: an agent's view of it, branches off it, a state of long ago. */
import { join } from 'node:path'
import type { Colloquy } from 'colloquy'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { median, Rounds, timed } from './support/measure.ts'
import { caughtUp, openAt } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { messages } from './support/text.ts'
import { count, milliseconds } from './support/units.ts'

export const teams: Benchmark = {
  name: 'teams',
  title: 'A team on one conversation',
  about:
    'Six agents and a person in one conversation; every tenth event is an acknowledgement, the others are messages of 400 bytes. The same at the longer history next to the same at the shorter one, in the same rounds. The view is of an agent that has 20 messages to catch up on, in a budget of 20,000 tokens. A branch is a durable write. "In the middle" is about half-way through the log, at another version each time.',
  run: (sizes, tell) => inTemporaryFolder(folder => run(folder, sizes, tell)),
}

const agents = ['pm', 'dev', 'qa', 'merge', 'harness', 'writer'] as const

interface Team {
  events: number
  colloquy: Colloquy
  id: string
  trigger: { messageId: string }
  /** A version near the middle, another one each time. */
  middle(): number
}

/** The measured operations, each at both sizes. */
const tasks: ReadonlyArray<{ what: string; atMost?: number; run(team: Team): Promise<unknown> }> = [
  {
    what: "an agent's view",
    atMost: 1.3,
    run: async ({ colloquy, id, trigger }) =>
      (await colloquy.conversations.previewAgentMessages(id, 'dev', { trigger, recall: false })).messages,
  },
  { what: 'a branch at the newest version', atMost: 1.3, run: ({ colloquy, id }) => colloquy.conversations.branch(id) },
  {
    what: 'a branch in the middle',
    atMost: 1.3,
    run: ({ colloquy, id, middle }) => colloquy.conversations.branch(id, middle()),
  },
  {
    what: 'the state in the middle, and its newest 20 messages',
    run: async ({ colloquy, id, middle }) => (await colloquy.conversations.at(id, middle())).messages({ limit: 20 }),
  },
]

async function run(folder: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const { short, long } = sizes.teams
  const teams: Team[] = []
  try {
    for (const events of [short, long]) teams.push(await build(join(folder, `${events}.db`), events, tell))
    const [shorter, longer] = teams as [Team, Team]
    const often = { times: Math.min(sizes.perRound, 30), atMostMs: sizes.roundMs }
    const time = async (call: () => Promise<unknown>) => median(await timed(often, call))
    const rounds = tasks.map(() => new Rounds())
    for (let round = -1; round < sizes.rounds; round++) {
      tell(`round ${round + 1} of ${sizes.rounds}`)
      for (const [index, task] of tasks.entries()) {
        const before = await time(() => task.run(shorter))
        const ours = await time(() => task.run(longer))
        const after = await time(() => task.run(shorter))
        if (round >= 0) rounds[index]!.add({ ours, baseline: (before + after) / 2 })
      }
    }
    return tasks.map(({ what, atMost }, index) => ({
      what: `${what}: ${count(long)} events to ours at ${count(short)}`,
      ours: milliseconds(median(rounds[index]!.ours)),
      baseline: `${milliseconds(median(rounds[index]!.baseline))} (ours)`,
      ratio: rounds[index]!.ratio,
      spread: rounds[index]!.spread,
      ...(atMost !== undefined && { target: { atMost } }),
    }))
  } finally {
    for (const { colloquy } of teams) await colloquy.close()
  }
}

const perBatch = 2_000
const unread = 20

/** Written fast and without syncs; measured on the file with default settings. */
async function build(path: string, events: number, tell: Tell): Promise<Team> {
  const builder = await openAt(path, { tokens: 'fast', durability: 'relaxed' })
  const next = messages(11)
  const { id } = await builder.conversations.createConversation({ title: 'A long story' })
  const sessions: string[] = []
  for (const agent of agents) sessions.push((await builder.conversations.acknowledge(id, agent, 1)).id)
  let { version } = await builder.conversations.getConversation(id)
  while (version < events - unread - 2) {
    tell(`building ${count(events)} events: ${count(version)}`)
    const batch: Promise<unknown>[] = []
    for (const end = Math.min(version + perBatch, events - unread - 2); version < end; version++) {
      const author = agents[version % agents.length]!
      // Writes are recorded in the order they are handed in, so the version before this one is there by then.
      batch.push(
        version % 10 === 0
          ? builder.conversations.acknowledge(id, { sessionId: sessions[(version / 10) % agents.length]! }, version)
          : builder.conversations.addEvent(id, { role: 'assistant', author, content: next() }),
      )
    }
    await Promise.all(batch)
    ;({ version } = await builder.conversations.getConversation(id))
  }
  await builder.conversations.acknowledge(id, 'dev', version)
  for (let i = 0; i < unread; i++) {
    await builder.conversations.addEvent(id, { role: 'assistant', author: 'qa', content: next() })
  }
  const ask = await builder.conversations.addEvent(id, { role: 'user', content: 'Dev, what is left to do?' })
  await builder.close()
  const colloquy = await openAt(path, { tokens: 'fast', requests: { budget: 20_000 } })
  await caughtUp(colloquy)
  let step = 0
  const middle = () => Math.floor(events * (0.45 + 0.1 * ((++step * 0.618_034) % 1)))
  return { events, colloquy, id, trigger: { messageId: ask.id }, middle }
}
