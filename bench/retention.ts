/** Compares what a compaction without a model keeps of a real session with the summary that a model wrote. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { piSession, piSessionIsThere, recordedMessages } from '../test/support/recordings/pi-session.ts'
import { isIn, type Kind, type Reached, reach, type Thing, thingsIn } from './retention-measure.ts'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { openAt } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { count } from './support/units.ts'

export const retention: Benchmark = {
  name: 'retention',
  title: 'What a compaction keeps reachable',
  about:
    'A real coding session of one person and one agent, said turn by turn into a session with a budget of 20,000 tokens and no model: the offline summariser compacts it again and again. Then, for everything named in the range that the recorded summary of that session stands for, where it is found: word for word in the checkpoint that is sent; in what recall quotes when the next message asks for it; in the messages behind the checkpoint’s items (`expand`). The baseline is the summary a model wrote at the same point of the session. File paths are those that tools touched or the person named, identifiers those said in at least two messages; an instruction is there when 60 % of its longer words are. See [retention.md](retention.md).',
  run: (sizes, tell) => inTemporaryFolder(folder => run(folder, sizes, tell)),
}

async function run(folder: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  if (!piSessionIsThere) return [{ what: 'the recorded session is not there', ours: 'nothing measured' }]
  const recorded = recordedMessages(readFileSync(piSession, 'utf8'))
  const at = recorded.compactions.at(-1)!
  const requests = { budget: sizes.retention.budget }
  const colloquy = await openAt(join(folder, 'retention.db'), { durability: 'relaxed', requests })
  try {
    const { sessions } = colloquy
    const { id } = await sessions.createSession({ type: 'feature', agentType: 'dev', featureId: 'refactor' })
    const lastOfRange = { version: 0 }
    for (const [index, message] of recorded.messages.slice(0, at.after).entries()) {
      if (index % 50 === 0) tell(`saying ${count(index)} of ${count(at.after)} messages`)
      const { version, role, author } = await sessions.addMessage(id, message)
      if (index < at.covers) lastOfRange.version = version
      // As in life: a request per turn of the person.
      if (role === 'user' && author === 'user') await sessions.buildRequest(id, { messageId: (await newest(id)).id })
    }
    const checkpoint = await sessions.getCheckpoint(id)
    if (!checkpoint) throw new Error('The session was never compacted.')
    const upTo = Math.min(checkpoint.upTo, lastOfRange.version)
    const range = (await sessions.getAllMessages(id)).filter(message => message.version <= upTo)
    const things = sample(thingsIn(range), sizes.retention.mostOfEach)
    tell(`looking for ${count(things.length)} things`)
    const reached = await reach(colloquy, id, things)
    const tokens = Math.round(at.summary.length / 4)
    return [
      {
        what: `${count(range.length)} messages compacted, ${checkpoint.number} times in a row`,
        ours: `${count(checkpoint.tokens.checkpoint)} tokens, ${checkpoint.items.length} items`,
        baseline: `about ${count(tokens)} tokens of prose`,
      },
      ...kinds.flatMap(kind =>
        rows(
          kind,
          reached.filter(one => one.thing.kind === kind),
          at.summary,
        ),
      ),
    ]
  } finally {
    await colloquy.close()
  }

  async function newest(sessionId: string) {
    const [message] = await colloquy.sessions.getRecentMessages(sessionId, 1)
    return message!
  }
}

const kinds: readonly Kind[] = ['file paths', 'identifiers', 'user instructions']

function rows(kind: Kind, reached: readonly Reached[], summary: string): Finding[] {
  const share = (number: number) => `${number} of ${reached.length} (${percent(number / reached.length)})`
  const where = (test: (one: Reached) => boolean) => share(reached.filter(test).length)
  return [
    {
      what: `${kind}, in the checkpoint`,
      ours: where(one => one.inCheckpoint),
      baseline: where(one => isIn(summary, one.thing)),
    },
    { what: `${kind}, through recall`, ours: where(one => one.byRecall) },
    { what: `${kind}, through expand`, ours: where(one => one.byExpand) },
    { what: `${kind}, in any of the three`, ours: where(one => one.inCheckpoint || one.byRecall || one.byExpand) },
  ]
}

/** Evenly over the range, when there are more of a kind than are wanted. */
function sample(things: readonly Thing[], most: number): Thing[] {
  return kinds.flatMap(kind => {
    const all = things.filter(thing => thing.kind === kind)
    const step = Math.max(1, all.length / most)
    return Array.from({ length: Math.min(all.length, most) }, (_, index) => all[Math.floor(index * step)]!)
  })
}

const percent = (share: number) => (Number.isNaN(share) ? '–' : `${Math.round(share * 100)} %`)
