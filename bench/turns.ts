/** Our share of an agent's turn: everything but the model. */
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Colloquy } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { bareStore } from './baselines/bare.ts'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { median, Rounds, timed } from './support/measure.ts'
import { buildHistory, caughtUp, openAt } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { count, milliseconds } from './support/units.ts'

/** Message, claim, start, manifest, answer with its acknowledgement, end, release. */
const commits = 7

export const turns: Benchmark = {
  name: 'turns',
  title: 'A turn of an agent',
  about: `\`agents.run\` with a model that answers at once: the message is stored, the session claimed, the request of a full budget built and rendered, the answer stored and acknowledged, and how it ended recorded. Next to it a bare prepared select of the rows of that request (same file, same driver), \`JSON.parse\` of each, and ${commits} bare commits of a message of the same size, as many as ours makes. Messages of 400 bytes. Recall and gathering the context are rows of their own.`,
  run: (sizes, tell) => inTemporaryFolder(folder => run(folder, sizes, tell)),
}

const question = 'What is left to do, and who waits for it?'

async function run(folder: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const { histories, budget } = sizes.requests
  const size = histories[0]!
  tell(`building a history of ${count(size)}`)
  const path = join(folder, 'turns.db')
  const { session } = await buildHistory(path, size, size)
  const requests = { budget, model: undefined, strategy: { name: 'sliding_window' } as const, recall: false }
  const model = scriptedModel('Done.')
  const colloquy = await openAt(path, { tokens: 'fast', requests, agents: { model } })
  const bare = bareStore(join(folder, 'bare.db'))
  await caughtUp(colloquy)
  const turn = () => colloquy.agents.run(session, { message: question })
  await turn()
  const read = bareRead(path, await keptIn(colloquy, session))
  let version = 0
  const commit = () =>
    bare.insert({ conversation: 1, version: ++version, author: 'dev', role: 'user', at: version, body: question })
  const baseline = () => {
    read.all()
    for (let index = 0; index < commits; index++) commit()
  }
  const often = { times: Math.min(sizes.perRound, 30), atMostMs: sizes.roundMs }
  const added = new Rounds()
  const recalled = new Rounds()
  const gathered = new Rounds()
  try {
    for (let round = -1; round < sizes.rounds; round++) {
      tell(`round ${round + 1} of ${sizes.rounds}`)
      const theirs = median(await timed(often, baseline))
      const ours = median(await timed(often, turn))
      await colloquy.sessions.setRequestSettings(session, { recall: true })
      const recalling = median(await timed(often, turn))
      await colloquy.sessions.setRequestSettings(session, { recall: null })
      const gathering = median(await timed(often, () => colloquy.sessions.updateContext(session, { root: folder })))
      if (round < 0) continue
      added.add({ ours, baseline: theirs })
      recalled.add({ ours: recalling, baseline: theirs })
      gathered.add({ ours: gathering, baseline: theirs })
    }
  } finally {
    read.close()
    bare.close()
    await colloquy.close()
  }
  return [
    row(`a turn at ${count(size)} messages, ${count(budget)} tokens`, added, { atMost: 2 }),
    row('the same, with recalled quotes', recalled),
    row('gathering the context of a folder that did not change', gathered),
  ]
}

/** First and last version that a request of the session keeps. */
async function keptIn({ sessions }: Colloquy, session: string): Promise<[number, number]> {
  const { ledger } = await sessions.previewRequest(session, question)
  const versions = ledger.entries.flatMap(one => (one.why === 'recent' ? (one.versions ?? []) : []))
  return [Math.min(...versions), Math.max(...versions)]
}

function bareRead(path: string, [first, last]: [number, number]) {
  const database = new DatabaseSync(path, { readOnly: true })
  const select = database.prepare(
    `select version, at, message, body from events
     where conversation = ?1 and lane = ?2 and version between ?3 and ?4 order by version`,
  )
  select.setReturnArrays(true)
  const { conversation, lane } = database
    .prepare('select conversation, lane from events where version = ? and lane is not null')
    .get(first) as { conversation: number; lane: number }
  return {
    all() {
      for (const [, , , body] of select.all(conversation, lane, first, last) as unknown as unknown[][])
        JSON.parse(body as string)
    },
    close: () => database.close(),
  }
}

function row(what: string, rounds: Rounds, target?: Finding['target']): Finding {
  return {
    what,
    ours: milliseconds(median(rounds.ours)),
    baseline: milliseconds(median(rounds.baseline)),
    ratio: rounds.ratio,
    spread: rounds.spread,
    ...(target && { target }),
  }
}
