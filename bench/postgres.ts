/** The store for many nodes, compared with bare inserts, with the embedded store and with one JSON document. */
import { join } from 'node:path'
import { type Colloquy, openColloquy } from 'colloquy'
import pg from 'pg'
import { startPostgres } from '../test/support/postgres-server.ts'
import { bareTable } from './baselines/bare-postgres.ts'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { median, Rounds, secondsOf, timed } from './support/measure.ts'
import { addAll, caughtUp, newSession, openAt } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { messages } from './support/text.ts'
import { count, milliseconds, perSecond } from './support/units.ts'

export const postgres: Benchmark = {
  name: 'postgres',
  title: 'PostgreSQL',
  about:
    'One durable append of 400 bytes on a PostgreSQL of its own on this machine (fsync on, a socket, no network), next to a bare prepared insert of the same bytes over the same driver; 64 callers at once on as many conversations next to a bare insert of 64 rows; a request of a full budget next to the same request from the embedded store. The last column keeps a conversation as one JSONB array and rewrites it for each message. Bytes are what the server reports for its tables and its write-ahead log.',
  run: (sizes, tell) =>
    inTemporaryFolder(async folder => {
      const server = await startPostgres()
      try {
        return await measure({ url: server.urlOf('postgres'), folder, sizes, tell })
      } finally {
        await server.remove()
      }
    }),
}

interface Measuring {
  url: string
  folder: string
  sizes: Sizes
  tell: Tell
}

interface Contestants extends Measuring {
  colloquy: Colloquy
  bare: Awaited<ReturnType<typeof bareTable>>
  text(): string
}

async function measure(measuring: Measuring): Promise<Finding[]> {
  const client = new pg.Client({ connectionString: measuring.url })
  await client.connect()
  const bare = await bareTable(client)
  const colloquy = await openColloquy({ store: measuring.url, project: 'bench', tokens: 'fast', sweepEveryMs: null })
  const contestants = { ...measuring, colloquy, bare, text: messages(1) }
  try {
    return [
      ...(await oneAfterAnother(contestants)),
      ...(await manyCallers(contestants)),
      ...(await requestsNextToTheFile(measuring)),
      ...(await bytesOf(client, colloquy)),
    ]
  } finally {
    await colloquy.close()
    await client.end()
  }
}

async function oneAfterAnother({ sizes, tell, colloquy, bare, text }: Contestants): Promise<Finding[]> {
  const { perRound: times, roundMs: atMostMs, histories } = sizes
  const sessions: string[] = []
  for (const size of histories) {
    tell(`building a history of ${count(size)}`)
    const id = await newSession(colloquy, `history ${size}`)
    await addAll(colloquy, id, Array.from({ length: size }, text))
    sessions.push(id)
  }
  const rounds = histories.map(() => new Rounds())
  const flat = new Rounds()
  for (let round = -1; round < sizes.rounds; round++) {
    tell(round < 0 ? 'warming up' : `round ${round + 1} of ${sizes.rounds}`)
    const ours: number[] = []
    for (const [index, id] of sessions.entries()) {
      const baseline = median(await timed({ times, atMostMs }, () => bare.insert(text())))
      const say = () => colloquy.sessions.addMessage(id, { role: 'user', content: text() })
      ours.push(median(await timed({ times, atMostMs }, say)))
      await caughtUp(colloquy)
      if (round >= 0) rounds[index]!.add({ ours: ours[index]!, baseline })
    }
    if (round >= 0) flat.add({ ours: ours.at(-1)!, baseline: ours[0]! })
  }
  const findings: Finding[] = []
  for (const [index, size] of histories.entries()) {
    tell(`one JSON document with ${count(size)}`)
    findings.push({
      ...row(`one after another, history of ${count(size)}`, rounds[index]!, { atMost: 1.4 }),
      document: milliseconds(await bare.rewriteDocument(size, text, atMostMs)),
    })
  }
  const name = `ours at ${count(histories.at(-1)!)} to ours at ${count(histories[0]!)}`
  return [...findings, row(name, flat, { atMost: 1.15 }, ' (ours)')]
}

async function manyCallers({ sizes, tell, colloquy, bare, text }: Contestants): Promise<Finding[]> {
  const { rounds: times, callers, messagesEach } = sizes.writers
  const sessions = await Promise.all(
    Array.from({ length: callers }, (_, index) => newSession(colloquy, `caller ${index}`)),
  )
  const rounds = new Rounds()
  const searchable: number[] = []
  for (let round = -1; round < times; round++) {
    tell(round < 0 ? 'warming up' : `${callers} callers, round ${round + 1} of ${times}`)
    const baseline = await secondsOf(async () => {
      for (let i = 0; i < messagesEach; i++) await bare.insertMany(Array.from({ length: callers }, text))
    })
    const ours = await secondsOf(() =>
      Promise.all(
        sessions.map(async id => {
          for (let i = 0; i < messagesEach; i++) {
            await colloquy.sessions.addMessage(id, { role: 'user', content: text() })
          }
        }),
      ),
    )
    const feeding = await secondsOf(() => caughtUp(colloquy))
    const messageCount = callers * messagesEach
    if (round < 0) continue
    rounds.add({ ours: messageCount / ours, baseline: messageCount / baseline })
    searchable.push(messageCount / (ours + feeding))
  }
  return [
    {
      what: `${callers} callers at once`,
      ours: perSecond(median(rounds.ours)),
      baseline: perSecond(median(rounds.baseline)),
      ratio: rounds.ratio,
      spread: rounds.spread,
      target: { atLeast: 0.4 },
    },
    { what: '… until a search has taken in all of it', ours: perSecond(median(searchable)) },
  ]
}

async function requestsNextToTheFile({ url, folder, sizes, tell }: Measuring): Promise<Finding[]> {
  const { histories, budget } = sizes.requests
  const size = histories[0]!
  const requests = { budget, model: undefined, strategy: { name: 'sliding_window' } as const }
  const onServer = await openColloquy({ store: url, project: 'bench', tokens: 'fast', sweepEveryMs: null, requests })
  const file = await openAt(join(folder, 'requests.db'), { tokens: 'fast', requests, durability: 'relaxed' })
  try {
    tell('building a history for requests')
    const next = messages(2)
    const texts = Array.from({ length: size }, next)
    const previews: Array<(options: { recall: boolean }) => Promise<unknown>> = []
    for (const colloquy of [onServer, file]) {
      const id = await newSession(colloquy, 'requests')
      await addAll(colloquy, id, texts)
      await caughtUp(colloquy)
      previews.push(
        async options => (await colloquy.sessions.previewRequest(id, 'What is left to do?', options)).messages,
      )
    }
    const repeats = { times: Math.min(sizes.perRound, 40), atMostMs: sizes.roundMs }
    const [plain, recalled] = [new Rounds(), new Rounds()]
    for (let round = -1; round < sizes.rounds; round++) {
      tell(`requests, round ${round + 1} of ${sizes.rounds}`)
      for (const [rounds, recall] of [
        [plain, false],
        [recalled, true],
      ] as const) {
        const baseline = median(await timed(repeats, () => previews[1]!({ recall })))
        const ours = median(await timed(repeats, () => previews[0]!({ recall })))
        if (round >= 0) rounds.add({ ours, baseline })
      }
    }
    return [
      row(`a request of ${count(budget)} tokens from ${count(size)} messages`, plain, { atMost: 2 }, ' (file)'),
      row('the same, with recalled quotes', recalled, undefined, ' (file)'),
    ]
  } finally {
    await onServer.close()
    await file.close()
  }
}

/** Measures the bytes of a message in tables, indexes and the write-ahead log. */
async function bytesOf(client: pg.Client, colloquy: Colloquy): Promise<Finding[]> {
  await client.query('vacuum (analyze) colloquy.events, colloquy.docs, colloquy.conversations, bare')
  const { rows } = await client.query<Record<string, number>>(`
    select (select count(*) from colloquy.events)::integer as events, (select count(*) from bare)::integer as bare,
      pg_table_size('colloquy.events')::float as heap, pg_indexes_size('colloquy.events')::float as indexes,
      pg_total_relation_size('colloquy.docs')::float as words, pg_total_relation_size('bare')::float as plain`)
  const { events, bare, heap, indexes, words, plain } = rows[0]!
  const position = async () => {
    const position = await client.query<{ bytes: number }>(`select (pg_current_wal_lsn() - '0/0')::float as bytes`)
    return position.rows[0]!.bytes
  }
  const id = await newSession(colloquy, 'bytes')
  const text = messages(5)
  const times = 200
  await caughtUp(colloquy)
  const before = await position()
  for (let i = 0; i < times; i++) await colloquy.sessions.addMessage(id, { role: 'user', content: text() })
  const written = (await position()) - before
  const bytes = (value: number) => `${Math.round(value)} bytes`
  return [
    {
      what: `on disk, of each of ${count(events!)} events: log and its indexes`,
      ours: bytes((heap! + indexes!) / events!),
      baseline: bytes(plain! / bare!),
      ratio: (heap! + indexes!) / events! / (plain! / bare!),
    },
    { what: '… of it the indexes', ours: bytes(indexes! / events!) },
    { what: '… and the full-text index', ours: bytes(words! / events!) },
    { what: `write-ahead log of an append, over ${times}`, ours: bytes(written / times) },
  ]
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
