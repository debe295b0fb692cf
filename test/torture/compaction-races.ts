/**
 * Two programs compact one session while a third appends to it, race after race: one checkpoint per base, every message
 * in exactly one of checkpoint and window, nothing acknowledged lost.
 */
import { join } from 'node:path'
import { openColloquy } from 'colloquy'
import { startChild } from './child.ts'
import { random } from './random.ts'

export interface RacesReport {
  races: number
  checkpoints: number
  /** Messages acknowledged to the third program. */
  added: number
  problems: string[]
}

export interface RacesOptions {
  folder: string
  races: number
  seed: number
  onRace?: (race: number) => void
}

const budget = 2_000
/** A session this old is left for a fresh one, so that the last race costs what the first did. */
const racesPerSession = 25

export async function compactionRaces({ folder, races, seed, onRace }: RacesOptions): Promise<RacesReport> {
  const store = `sqlite:${join(folder, 'races.db')}`
  const from = random(seed)
  const colloquy = await openColloquy({
    store,
    project: 'races',
    tokens: 'fast',
    durability: 'relaxed',
    sweepEveryMs: null,
    requests: { budget, recall: false },
  })
  const programs = await Promise.all([1, 2, 3].map(() => program(store)))
  const [first, second, third] = programs as [Program, Program, Program]
  const report: RacesReport = { races: 0, checkpoints: 0, added: 0, problems: [] }
  let versionsSeen = new Set<number>()
  let session = ''
  try {
    for (let race = 0; race < races && report.problems.length === 0; race++) {
      if (race % racesPerSession === 0) {
        session = await freshSession(race)
        versionsSeen = new Set()
      }
      for (let turn = 0; turn < 16; turn++) await speak(`${race}-${turn}`)
      const additions = from.between(1, 4)
      const answers = await Promise.all([
        first.ask({ what: from.below(4) === 0 ? 'compact' : 'build', session, text: `A ${race}?` }),
        second.ask({ what: from.below(4) === 0 ? 'compact' : 'build', session, text: `B ${race}?` }),
        ...Array.from({ length: additions }, (_, index) =>
          third.ask({ what: 'add', session, text: `in between ${race} ${index}` }),
        ),
      ])
      for (const answer of answers) {
        if (answer.error !== undefined) report.problems.push(`race ${race}: ${answer.error}`)
        if (typeof answer.version === 'number') versionsSeen.add(answer.version)
      }
      report.added += additions
      report.problems.push(...(await look(race)))
      report.races++
      onRace?.(race + 1)
    }
    report.checkpoints = await checkpointsOfAll()
    const { damages } = await colloquy.verify()
    report.problems.push(...damages.map(damage => JSON.stringify(damage)))
  } finally {
    const ends = await Promise.all(programs.map(one => one.end()))
    for (const { code, words } of ends) if (code !== 0) report.problems.push(`a program ended with ${code}: ${words}`)
    await colloquy.close()
  }
  return report

  async function freshSession(race: number): Promise<string> {
    const options = { type: 'thread', agentType: 'helper', threadId: `race ${race}` } as const
    return (await colloquy.sessions.createSession(options)).id
  }

  async function speak(name: string): Promise<void> {
    const content = `Question ${name} about src/module-${name}.ts ${'and its neighbours '.repeat(12)}`
    versionsSeen.add((await colloquy.sessions.addMessage(session, { role: 'user', content })).version)
    const answer = `Answer ${name}: it is done ${'as it was asked for '.repeat(12)}`
    versionsSeen.add((await colloquy.sessions.addMessage(session, { role: 'assistant', content: answer })).version)
  }

  /** Checks the log after a race. */
  async function look(race: number): Promise<string[]> {
    const problems: string[] = []
    const history = await colloquy.sessions.getCheckpointHistory(session)
    const bases = history.map(checkpoint => checkpoint.base)
    if (new Set(bases).size !== bases.length) problems.push(`race ${race}: two checkpoints on one base (${bases})`)
    if (history.some(checkpoint => checkpoint.base !== checkpoint.number - 1))
      problems.push(`race ${race}: a checkpoint does not stand on the one before it (${bases})`)
    const all = (await colloquy.sessions.getAllMessages(session)).map(message => message.version)
    const lost = [...versionsSeen].filter(version => !all.includes(version))
    if (lost.length > 0) problems.push(`race ${race}: lost ${lost}`)
    if (all.length !== versionsSeen.size)
      problems.push(`race ${race}: ${all.length} messages, ${versionsSeen.size} were said`)
    const newest = history[0]
    const covered = all.filter(version => version <= (newest?.upTo ?? 0)).length
    if (newest && newest.messages !== covered)
      problems.push(`race ${race}: the checkpoint says ${newest.messages} messages, it is ${covered}`)
    const { ledger, omitted } = await colloquy.sessions.previewRequest(session, 'And now?')
    const keptVersions = ledger.entries.flatMap(one => (one.what === 'message' ? (one.versions ?? []) : []))
    if (covered + keptVersions.length + omitted !== all.length)
      problems.push(
        `race ${race}: ${covered} covered, ${keptVersions.length} kept, ${omitted} left out of ${all.length}`,
      )
    return problems
  }

  async function checkpointsOfAll(): Promise<number> {
    const { items } = await colloquy.sessions.listSessions({ limit: 500 })
    return items.reduce((sum, one) => sum + one.compactions, 0)
  }
}

interface Answer {
  ready?: boolean
  error?: string
  version?: number
}

interface Program {
  ask(order: { what: string; session: string; text: string }): Promise<Answer>
  end(): Promise<{ code: number | null; words: string }>
}

/** Answers come in the order of the questions. */
async function program(store: string): Promise<Program> {
  const waiting: Array<(answer: Answer) => void> = []
  const ready = new Promise<Answer>(resolve => waiting.push(resolve))
  const child = startChild({
    program: 'compactor.mjs',
    args: [JSON.stringify({ store, project: 'races', budget })],
    onLine: line => waiting.shift()?.(JSON.parse(line) as Answer),
  })
  // A program that died answers no more.
  const exit = child.ended.then(({ code, words }): Answer => ({ error: `a program ended with ${code}: ${words}` }))
  await Promise.race([ready, exit])
  return {
    ask(order) {
      const answer = new Promise<Answer>(resolve => waiting.push(resolve))
      child.tell(JSON.stringify(order))
      return Promise.race([answer, exit])
    },
    async end() {
      child.endInput()
      return child.ended
    },
  }
}
