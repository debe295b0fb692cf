/**
 * Random damage to a closed store: bytes flipped, pages zeroed, overwritten or swapped, the file cut off. Whatever is
 * read back afterwards is what was written, or is reported; and what can be read can be rescued into a new file.
 *
 * The rounds run in a child process, so that a crash or an endless loop is a finding and not the end of the run.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { type Colloquy, ColloquyError, type Message, openColloquy } from 'colloquy'
import { salvage } from 'colloquy/sqlite'
import { runChild } from './child.ts'
import { type Random, random } from './random.ts'

export interface DamageOptions {
  /** An existing folder for the stores. */
  folder: string
  rounds: number
  seed: number
  onRound?: (round: RoundReport) => void
}

export interface RoundReport {
  round: number
  /** The damage to the file, in words. */
  damage: string
  /** The outcome: whole, reported by `verify`, or refused with a code. */
  outcome: string
  /** Messages read back as they were written. */
  same: number
  /** Messages that said themselves that they are damaged. */
  marked: number
  /** Messages in the rescued file, as they were written. */
  rescued: number
  /** Whatever breaks a promise, in words. */
  problems: string[]
}

export interface DamageReport {
  rounds: number
  written: number
  outcomes: Record<string, number>
  same: number
  marked: number
  rescued: number
  problems: string[]
}

export interface Written {
  conversationId: string
  messages: Message[]
}

export const project = 'torture'
const storeName = 'colloquy.db'

/** Runs all rounds in child processes; a round that crashes or hangs is reported, and the next one goes on. */
export async function damageRounds({ folder, rounds, seed, onRound }: DamageOptions): Promise<DamageReport> {
  const written = await givenStore(folder)
  const report: DamageReport = {
    rounds: 0,
    written: written.reduce((sum, one) => sum + one.messages.length, 0),
    outcomes: {},
    same: 0,
    marked: 0,
    rescued: 0,
    problems: [],
  }
  function take(round: RoundReport): void {
    report.rounds++
    report.outcomes[round.outcome] = (report.outcomes[round.outcome] ?? 0) + 1
    for (const field of ['same', 'marked', 'rescued'] as const) report[field] += round[field]
    report.problems.push(...round.problems.map(one => `round ${round.round} (${round.damage}): ${one}`))
    onRound?.(round)
  }
  while (report.rounds < rounds) {
    const first = report.rounds
    const ended = await runChild(
      {
        program: 'damage-child.mjs',
        args: [JSON.stringify({ folder, from: first, to: rounds, seed })],
        onLine: line => take(JSON.parse(line) as RoundReport),
      },
      { silenceMs: 30_000 },
    )
    if (report.rounds < rounds) {
      const how = ended.hung ? 'hung' : `ended the process with ${ended.code ?? ended.signal}: ${ended.words}`
      const round = report.rounds
      const damage = describeDamage(folder, seed, round)
      take({ round, damage, outcome: 'crashed', same: 0, marked: 0, rescued: 0, problems: [how] })
    }
  }
  return report
}

/**
 * A store with conversations of all kinds, closed, and a list of what was written. Another process writes it: to this
 * one it is a file that nothing here has ever had open.
 */
export async function givenStore(folder: string): Promise<Written[]> {
  const { code, words } = await runChild({ program: 'damage-child.mjs', args: [JSON.stringify({ write: folder })] })
  if (code !== 0) throw new Error(`The store could not be written: ${words}`)
  return writtenIn(folder)
}

function writtenIn(folder: string): Written[] {
  return JSON.parse(readFileSync(join(folder, 'written.json'), 'utf8')) as Written[]
}

/** Writes the store, in the other process. */
export async function writeStore(folder: string): Promise<void> {
  // Ids and times of its own, so that a seed finds the same bytes at the same places again.
  let ids = 0
  let now = Date.parse('2026-11-15T10:00:00Z')
  const colloquy = await openColloquy({
    store: `sqlite:${join(folder, storeName)}`,
    project,
    tokens: 'fast',
    sweepEveryMs: null,
    ids: () => `id-${String(++ids).padStart(8, '0')}`,
    clock: () => ++now,
  })
  const written: Written[] = []
  for (let number = 0; number < 6; number++) {
    const session = await colloquy.sessions.getOrCreateSession({
      type: 'feature',
      agentType: 'dev',
      featureId: `feature-${number}`,
      title: `Feature number ${number}`,
      metadata: { number },
    })
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        colloquy.sessions.addMessage(session.id, {
          role: index % 2 === 0 ? 'user' : 'assistant',
          content: textOf(number, index),
          ...(index % 7 === 0 && { metadata: { index } }),
          ...(index % 9 === 0 && { internal: true }),
        }),
      ),
    )
    const { conversationId } = session
    written.push({
      conversationId,
      messages: await colloquy.conversations.getMessages(conversationId, { limit: 1000 }),
    })
  }
  // Fills the index too.
  await colloquy.conversations.search({ text: 'lighthouse' })
  await colloquy.close()
  moveAllIntoFile(join(folder, `${storeName}-search`))
  moveAllIntoFile(join(folder, storeName))
  copyFileSync(join(folder, storeName), join(folder, 'intact'))
  writeFileSync(join(folder, 'written.json'), JSON.stringify(written))
}

/** Nothing stays in the write-ahead log: what is damaged is the one file. */
export function moveAllIntoFile(file: string): void {
  const connection = new DatabaseSync(file)
  connection.exec('pragma wal_checkpoint(truncate)')
  connection.close()
}

/** One conversation has a message for the blob table, some have messages longer than a page. */
function textOf(conversation: number, index: number): string {
  const words = conversation === 3 && index === 20 ? 45_000 : index % 11 === 10 ? 1_000 : 30
  const own = Array.from({ length: words }, (_, at) => ((at + 1) * (conversation + 3) * (index + 7)).toString(36))
  return `lighthouse ${conversation}/${index} ${own.join(' ')}`
}

type Wound = (bytes: Buffer, choose: Random) => { bytes: Buffer; what: string }

const pageSize = 4096

const wounds: readonly Wound[] = [
  (bytes, choose) => {
    const places = Array.from({ length: choose.between(1, 8) }, () => choose.below(bytes.length))
    for (const place of places) bytes[place]! ^= 1 << choose.below(8)
    return { bytes, what: `bits flipped at ${places.join(', ')}` }
  },
  (bytes, choose) => {
    const page = choose.below(bytes.length / pageSize)
    const places = Array.from({ length: choose.between(1, 6) }, () => page * pageSize + choose.below(pageSize))
    for (const place of places) bytes[place] = choose.below(256)
    return { bytes, what: `bytes changed at ${places.join(', ')}` }
  },
  (bytes, choose) => {
    const page = choose.below(bytes.length / pageSize)
    bytes.subarray(page * pageSize, (page + 1) * pageSize).fill(0)
    return { bytes, what: `page ${page + 1} zeroed` }
  },
  (bytes, choose) => {
    const at = choose.below(bytes.length)
    const length = choose.between(1, 20_000)
    bytes.subarray(at, at + length).fill(0)
    return { bytes, what: `${length} bytes zeroed from ${at}` }
  },
  (bytes, choose) => {
    const page = choose.below(bytes.length / pageSize)
    choose.bytes(pageSize).copy(bytes, page * pageSize)
    return { bytes, what: `page ${page + 1} overwritten` }
  },
  (bytes, choose) => {
    const [a, b] = [choose.below(bytes.length / pageSize), choose.below(bytes.length / pageSize)]
    const kept = Buffer.from(bytes.subarray(a * pageSize, (a + 1) * pageSize))
    bytes.copy(bytes, a * pageSize, b * pageSize, (b + 1) * pageSize)
    kept.copy(bytes, b * pageSize)
    return { bytes, what: `pages ${a + 1} and ${b + 1} swapped` }
  },
  (bytes, choose) => {
    const size = choose.below(bytes.length)
    return { bytes: bytes.subarray(0, size), what: `cut off at ${size} of ${bytes.length}` }
  },
]

function wounded(folder: string, seed: number, round: number): { bytes: Buffer; what: string } {
  const choose = random(seed + round * 7919)
  let bytes: Buffer = readFileSync(join(folder, 'intact'))
  const whats: string[] = []
  // Mostly bytes within the file: they find more than a file that no longer opens.
  for (let count = choose.pick([1, 1, 1, 2, 3]); count > 0; count--) {
    const done = choose.pick([wounds[0]!, wounds[1]!, ...wounds])(bytes, choose)
    bytes = done.bytes
    whats.push(done.what)
  }
  return { bytes, what: whats.join('; ') }
}

export function describeDamage(folder: string, seed: number, round: number): string {
  return wounded(folder, seed, round).what
}

/** One round: damage, open, read, search, verify, salvage, read what was rescued. */
export async function damageRound(folder: string, seed: number, round: number): Promise<RoundReport> {
  const written = writtenIn(folder)
  const place = join(folder, `round-${round}`)
  mkdirSync(place)
  const file = join(place, storeName)
  const { bytes, what } = wounded(folder, seed, round)
  writeFileSync(file, bytes)
  const problems: string[] = []
  // Every other round only looks, and must leave every byte as it is.
  const readOnly = round % 2 === 1
  const read = await readDamaged(file, { written, readOnly, problems })
  const rescued = await rescue(file, { written, readable: read.identical, problems })
  if (readOnly && !readFileSync(file).equals(bytes)) problems.push('reading and rescuing changed the damaged file')
  // The files of a round with problems stay.
  if (problems.length === 0) rmSync(place, { recursive: true, force: true })
  return {
    round,
    damage: what,
    outcome: read.outcome,
    same: read.identical.size,
    marked: read.marked,
    rescued,
    problems,
  }
}

interface ReadBack {
  outcome: string
  /** Ids of the messages that came back as they were written. */
  identical: Set<string>
  marked: number
}

async function readDamaged(
  file: string,
  { written, readOnly, problems }: { written: readonly Written[]; readOnly: boolean; problems: string[] },
): Promise<ReadBack> {
  const read: ReadBack = { outcome: 'whole', identical: new Set(), marked: 0 }
  const opened = await typed('open', problems, () => open(file, readOnly))
  if (opened.value === undefined) return { ...read, outcome: `refused with ${opened.code}` }
  const colloquy = opened.value
  /** Differences that are problems unless `verify` reports damage. */
  const silent: Array<{ conversationId: string; what: string }> = []
  let refusals = 0
  const asked = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    const { value, code } = await typed(what, problems, work)
    if (code !== undefined) refusals++
    return value
  }
  for (const { conversationId, messages } of written) {
    const found = await asked(`reading ${conversationId}`, () => allMessages(colloquy, conversationId))
    if (!found) continue
    const compared = compare(messages, found)
    for (const id of compared.identical) read.identical.add(id)
    read.marked += compared.marked
    silent.push(...compared.wrong.map(wrong => ({ conversationId, what: wrong })))
    const events = await asked('reading the log', () => colloquy.conversations.getEvents(conversationId))
    for (const wrong of events ? wrongEvents(messages, events) : []) silent.push({ conversationId, what: wrong })
  }
  const listed = await asked('listing conversations', () => colloquy.conversations.listConversations({ limit: 100 }))
  for (const { conversationId } of written) {
    if (listed && !listed.items.some(one => one.id === conversationId)) {
      silent.push({ conversationId, what: 'it is not in the list of conversations' })
    }
  }
  await asked('listing sessions', () => colloquy.sessions.listSessions({ limit: 100 }))
  const hits = await asked('searching', () => colloquy.conversations.search({ text: 'lighthouse', limit: 50 }))
  for (const hit of hits?.messages ?? []) {
    const own = written.find(one => one.conversationId === hit.conversationId)
    const message = own?.messages.find(one => one.id === hit.messageId)
    if (!message)
      silent.push({ conversationId: hit.conversationId, what: `found a message ${hit.messageId} nobody wrote` })
    else if (!message.content.includes('lighthouse') || message.version !== hit.version) {
      silent.push({ conversationId: hit.conversationId, what: `found version ${hit.version} for ${message.version}` })
    }
  }
  const report = await asked('verify', () => colloquy.verify({ allProjects: true }))
  const anywhere = !report || report.damages.some(one => one.conversationId === '')
  for (const { conversationId, what } of silent) {
    const said = anywhere || report.damages.some(one => one.conversationId === conversationId)
    if (!said) problems.push(`silently wrong: ${conversationId}: ${what}`)
  }
  if (refusals > 0 && report?.clean) problems.push('something was refused, yet verify finds the store clean')
  if (report && (!report.clean || refusals > 0)) read.outcome = 'reported by verify'
  if (!report) read.outcome = 'verify refused'
  await typed('close', problems, () => colloquy.close())
  return read
}

async function rescue(
  file: string,
  { written, readable, problems }: { written: readonly Written[]; readable: ReadonlySet<string>; problems: string[] },
): Promise<number> {
  const to = `${file}-rescued`
  const { value: salvaged } = await typed('salvage', problems, () => salvage(file, to))
  const rescued = new Set<string>()
  if (salvaged) {
    const { value: colloquy } = await typed('opening what was rescued', problems, () => open(to))
    if (colloquy) {
      const ids = new Set((await colloquy.conversations.listConversations({ limit: 100 })).items.map(one => one.id))
      for (const { conversationId, messages } of written) {
        if (!ids.has(conversationId)) continue
        const found = await allMessages(colloquy, conversationId)
        const compared = compare(messages, found)
        for (const id of compared.identical) rescued.add(id)
        for (const wrong of compared.altered) problems.push(`rescued, but not as written: ${conversationId}: ${wrong}`)
      }
      await typed('verifying what was rescued', problems, () => colloquy.verify({ allProjects: true }))
      await colloquy.close()
    }
    const left = [...readable].filter(id => !rescued.has(id))
    if (left.length > 0) {
      problems.push(`salvage left ${left.length} messages behind that could be read (${salvaged.losses.join('; ')})`)
    }
  }
  return rescued.size
}

export function open(file: string, readOnly = false): Promise<Colloquy> {
  return openColloquy({ store: `sqlite:${file}`, project, tokens: 'fast', sweepEveryMs: null, readOnly })
}

export function allMessages(colloquy: Colloquy, conversationId: string): Promise<Message[]> {
  return colloquy.conversations.getMessages(conversationId, { limit: 1000 })
}

/** Compares what was read with what was written. A message that says that it is damaged is right. */
export function compare(written: readonly Message[], found: readonly Message[]) {
  const byVersion = new Map(written.map(one => [one.version, JSON.stringify(one)]))
  const identical = new Set<string>()
  const altered: string[] = []
  let marked = 0
  for (const message of found) {
    const { version, id } = message
    if (message.missing?.because === 'damaged') marked++
    else if (byVersion.get(version) !== JSON.stringify(message))
      altered.push(`version ${version} is not what was written`)
    else if (identical.has(id)) altered.push(`version ${version} came twice`)
    else identical.add(id)
    byVersion.delete(message.missing ? version : -1)
  }
  const absent = written.filter(one => byVersion.has(one.version) && !identical.has(one.id))
  const wrong = [...altered, ...absent.map(one => `version ${one.version} is missing`)]
  return { identical, marked, altered, wrong }
}

function wrongEvents(
  written: readonly Message[],
  events: Awaited<ReturnType<Colloquy['conversations']['getEvents']>>,
): string[] {
  const byVersion = new Map(events.map(one => [one.version, one.event]))
  return written.flatMap(({ version, id, parts }) => {
    const event = byVersion.get(version)
    if (event?.type === 'damaged') return []
    const same =
      event?.type === 'message.added' && event.messageId === id && JSON.stringify(event.parts) === JSON.stringify(parts)
    return same ? [] : [`event ${version} of the log is not what was written`]
  })
}

/** Runs something that may be refused: with an error of ours, or it is a problem. */
async function typed<T>(
  what: string,
  problems: string[],
  work: () => Promise<T>,
): Promise<{ value?: T; code?: string }> {
  try {
    return { value: await work() }
  } catch (error) {
    if (error instanceof ColloquyError && /^(store\/|not-found)/.test(error.code)) return { code: error.code }
    const code = error instanceof ColloquyError ? error.code : 'no code'
    problems.push(`${what} failed with ${code}: ${error instanceof Error ? error.stack : error}`)
    return { code }
  }
}
