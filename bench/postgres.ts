/** The store for many nodes next to bare inserts on the same server, and to the seed's own way. */
import { openColloquy } from 'colloquy'
import pg from 'pg'
import { startPostgres } from '../test/support/postgres-server.ts'
import type { Benchmark, Finding, Tell } from './benchmark.ts'
import { median, Rounds, secondsOf, timed } from './measure.ts'
import type { Sizes } from './sizes.ts'
import { messages } from './text.ts'
import { count, milliseconds, perSecond } from './units.ts'

export const postgres: Benchmark = {
  name: 'postgres',
  title: 'PostgreSQL',
  about:
    'One durable append of 400 bytes on a PostgreSQL of its own on this machine (fsync on, a socket, no network), next to a bare prepared insert over the same driver; and 64 callers at once on as many conversations next to a bare insert of 64 rows. The seed keeps a conversation as one JSONB array and rewrites it for each message.',
  async run(sizes, tell) {
    const server = await startPostgres()
    try {
      return await measure(server.urlOf('postgres'), sizes, tell)
    } finally {
      await server.remove()
    }
  },
}

async function measure(url: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`
    create table bare (id bigint generated always as identity primary key, conversation text not null,
      version integer not null, author text not null, role text not null, at bigint not null, body text not null);
    create index on bare (conversation, version);
    create table seed (id text primary key, messages jsonb not null)`)
  const colloquy = await openColloquy({ store: url, project: 'bench', tokens: 'fast', sweepEveryMs: null })
  const text = messages(1)
  const newSession = (threadId: string) =>
    colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'dev', threadId })
  const say = (id: string) => colloquy.sessions.addMessage(id, { role: 'user', content: text() })
  const insert = (version: number) =>
    client.query({
      name: 'bare',
      text: 'insert into bare (conversation, version, author, role, at, body) values ($1, $2, $3, $4, $5, $6)',
      values: ['c', version, 'user', 'user', Date.now(), bodyLike(text())],
    })
  try {
    const { perRound: times, roundMs: atMostMs } = sizes
    const findings: Finding[] = []
    const byHistory: number[] = []
    for (const size of sizes.histories) {
      tell(`history of ${count(size)}`)
      const { id } = await newSession(`history ${size}`)
      for (let done = 0; done < size; done += 500) {
        await Promise.all(Array.from({ length: Math.min(500, size - done) }, () => say(id)))
      }
      const rounds = new Rounds()
      for (let round = -1; round < sizes.rounds; round++) {
        const baseline = median(await timed({ times, atMostMs }, insert))
        const ours = median(await timed({ times, atMostMs }, () => say(id)))
        if (round >= 0) rounds.add({ ours, baseline })
      }
      byHistory.push(median(rounds.ours))
      findings.push({
        what: `one after another, history of ${count(size)}`,
        ours: milliseconds(median(rounds.ours)),
        baseline: milliseconds(median(rounds.baseline)),
        ratio: rounds.ratio,
        spread: rounds.spread,
        target: { atMost: 1.4 },
        seeds: milliseconds(await seedsAppend(client, size, text, atMostMs)),
      })
    }
    const last = byHistory.length - 1
    findings.push({
      what: `ours at ${count(sizes.histories[last]!)} to ours at ${count(sizes.histories[0]!)}`,
      ours: milliseconds(byHistory[last]!),
      baseline: milliseconds(byHistory[0]!),
      ratio: byHistory[last]! / byHistory[0]!,
      target: { atMost: 1.15 },
    })
    findings.push(await manyCallers())
    return findings
  } finally {
    await colloquy.close()
    await client.end()
  }

  async function manyCallers(): Promise<Finding> {
    const { rounds: times, callers, messagesEach } = sizes.writers
    const sessions = await Promise.all(Array.from({ length: callers }, (_, index) => newSession(`caller ${index}`)))
    const rounds = new Rounds()
    for (let round = -1; round < times; round++) {
      tell(round < 0 ? 'warming up' : `${callers} callers, round ${round + 1} of ${times}`)
      const bare = await secondsOf(async () => {
        for (let i = 0; i < messagesEach; i++) {
          const rows = Array.from({ length: callers }, () => bodyLike(text()))
          await client.query({
            name: 'grouped',
            text: `insert into bare (conversation, version, author, role, at, body)
              select 'c', $1, 'user', 'user', $2, unnest($3::text[])`,
            values: [i, Date.now(), rows],
          })
        }
      })
      const ours = await secondsOf(() =>
        Promise.all(
          sessions.map(async ({ id }) => {
            for (let i = 0; i < messagesEach; i++) await say(id)
          }),
        ),
      )
      const messagesDone = callers * messagesEach
      if (round >= 0) rounds.add({ ours: messagesDone / ours, baseline: messagesDone / bare })
    }
    return {
      what: `${callers} callers at once`,
      ours: perSecond(median(rounds.ours)),
      baseline: perSecond(median(rounds.baseline)),
      ratio: rounds.ratio,
      spread: rounds.spread,
      target: { atLeast: 0.4 },
    }
  }
}

/** As many bytes as a stored message has. */
function bodyLike(text: string): string {
  return JSON.stringify({ role: 'user', tokens: [100, 'fast'], text })
}

async function seedsAppend(client: pg.Client, size: number, text: () => string, atMostMs: number): Promise<number> {
  const all = JSON.stringify(Array.from({ length: size }, () => ({ role: 'user', content: text() })))
  const id = `seed ${size}`
  await client.query('insert into seed (id, messages) values ($1, $2)', [id, all])
  return median(
    await timed({ times: 20, atMostMs }, () =>
      client.query('update seed set messages = messages || $2::jsonb where id = $1', [
        id,
        JSON.stringify([{ role: 'user', content: text() }]),
      ]),
    ),
  )
}
