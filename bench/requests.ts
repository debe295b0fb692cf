/** Assembling what an agent is sent, from short and from very long histories. */
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { AgentRequest, Colloquy } from 'colloquy'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { median, Rounds, timed } from './support/measure.ts'
import { buildHistory, caughtUp, openAt } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { count, milliseconds } from './support/units.ts'

export const requests: Benchmark = {
  name: 'requests',
  title: 'Assemble a request',
  about:
    '`previewRequest` of a full budget, packed and rendered as messages, next to a bare prepared select of just the rows it uses (same file, same driver) and `JSON.parse` of each. The rows with a longer history are next to ours at the shortest, in the same rounds. `buildRequest` also records its manifest, durably. Messages of 400 bytes; recall is off but where it is named.',
  run: (sizes, tell) => inTemporaryFolder(folder => run(folder, sizes, tell)),
}

interface Store {
  size: number
  colloquy: Colloquy
  ask(options?: { recall?: boolean }): Promise<AgentRequest>
  build(): Promise<AgentRequest>
  /** The first of a store that was just opened: nothing of it was read before. */
  first(): Promise<number>
  /** Reads and parses the rows of one request, and nothing else. */
  bare(): number
  close(): Promise<void>
}

const question = 'What is left to do, and who waits for it?'

async function run(folder: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const { histories, budget } = sizes.requests
  const stores: Store[] = []
  try {
    for (const size of histories) {
      tell(`building a history of ${count(size)}`)
      stores.push(await openStore(join(folder, `${size}.db`), size, budget))
    }
    const [shortest, ...longer] = stores as [Store, ...Store[]]
    const often = { times: Math.min(sizes.perRound, 40), atMostMs: sizes.roundMs }
    const time = async (call: () => Promise<unknown> | unknown) => median(await timed(often, call))
    const asMessages = new Rounds()
    const asPrompts = new Rounds()
    const built = new Rounds()
    const recalled = new Rounds()
    const opened = new Rounds()
    const grown = longer.map(() => new Rounds())
    for (let round = -1; round < sizes.rounds; round++) {
      tell(`round ${round + 1} of ${sizes.rounds}`)
      const baseline = await time(shortest.bare)
      const ours = await time(async () => (await shortest.ask()).messages)
      const prompts = await time(async () => (await shortest.ask()).systemPrompt)
      const building = await time(async () => (await shortest.build()).messages)
      const recalling = await time(async () => (await shortest.ask({ recall: true })).messages)
      const first = median([await shortest.first(), await shortest.first(), await shortest.first()])
      const longest: number[] = []
      for (const store of longer) longest.push(await time(async () => (await store.ask()).messages))
      const again = await time(async () => (await shortest.ask()).messages)
      if (round < 0) continue
      asMessages.add({ ours, baseline })
      asPrompts.add({ ours: prompts, baseline })
      built.add({ ours: building, baseline })
      recalled.add({ ours: recalling, baseline })
      opened.add({ ours: first, baseline })
      // Ours at the shortest stands before and behind the longer ones in a round.
      for (const [index, value] of longest.entries()) grown[index]!.add({ ours: value, baseline: (ours + again) / 2 })
    }
    const { ledger, totalTokens } = await shortest.ask()
    const recentCount = ledger.entries.filter(one => one.why === 'recent').length
    const what = `${count(totalTokens)} tokens, ${count(recentCount)} of ${count(shortest.size)} messages`
    return [
      row(what, asMessages, { atMost: 2 }),
      row('the same, rendered as two prompts', asPrompts),
      row('the same, `buildRequest` with its manifest', built),
      row('the same, with recalled quotes', recalled),
      row('the first after opening', opened),
      ...longer.map((store, index) =>
        row(
          `history of ${count(store.size)} to ours at ${count(shortest.size)}`,
          grown[index]!,
          { atMost: 1.2 },
          ' (ours)',
        ),
      ),
    ]
  } finally {
    for (const store of stores) await store.close()
  }
}

function row(what: string, rounds: Rounds, target?: Finding['target'], whose = ''): Finding {
  return {
    what,
    ours: milliseconds(median(rounds.ours)),
    baseline: milliseconds(median(rounds.baseline)) + whose,
    ratio: rounds.ratio,
    spread: rounds.spread,
    ...(target && { target }),
  }
}

async function openStore(path: string, size: number, budget: number): Promise<Store> {
  const { session } = await buildHistory(path, size, size)
  const requests = { budget, model: undefined, strategy: { name: 'sliding_window' } as const }
  const colloquy = await openAt(path, { tokens: 'fast', requests })
  await caughtUp(colloquy)
  const ask = ({ recall = false } = {}) => colloquy.sessions.previewRequest(session, question, { recall })
  const build = () => colloquy.sessions.buildRequest(session, question, { recall: false })
  const { ledger } = await ask()
  const versions = ledger.entries.flatMap(one => (one.why === 'recent' ? (one.versions ?? []) : []))
  const firstRequest = async () => {
    const another = await openAt(path, { tokens: 'fast', requests })
    try {
      await another.sessions.getSession(session)
      const start = performance.now()
      const preview = await another.sessions.previewRequest(session, question, { recall: false })
      return preview.messages.length > 0 ? performance.now() - start : Number.NaN
    } finally {
      await another.close()
    }
  }
  const database = new DatabaseSync(path, { readOnly: true })
  const select = database.prepare(
    `select e.version, e.at, e.message, e.body from events e join (
       select conversation, lane from events where version = ? and lane is not null
     ) l using (conversation, lane)
     where e.version between ? and ? order by e.version`,
  )
  select.setReturnArrays(true)
  const [first, last] = [Math.min(...versions), Math.max(...versions)]
  return {
    size,
    colloquy,
    ask,
    build,
    first: firstRequest,
    bare() {
      let messages = 0
      for (const [, , , body] of select.all(last, first, last) as unknown as unknown[][]) {
        JSON.parse(body as string)
        messages++
      }
      return messages
    },
    async close() {
      database.close()
      await colloquy.close()
    },
  }
}
