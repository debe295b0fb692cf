/**
 * kill -9 in a loop: four processes write to one store file, random ones of them die at random moments and come back.
 * At the end nothing that was acknowledged is missing, no version is skipped and nothing stands twice.
 */
import { setTimeout as pass } from 'node:timers/promises'
import { type Colloquy, type Message, openColloquy } from 'colloquy'
import { type Child, startChild } from './child.ts'
import { random } from './random.ts'

export interface KillOptions {
  /** An existing folder for the store. */
  folder: string
  cycles: number
  seed: number
  /** Default: a file in the folder. */
  store?: string
  /** Done to the store itself in each cycle, while all of them write. */
  disturb?: (cycle: number) => Promise<void>
  onCycle?: (cycle: number, acknowledged: number) => void
}

export interface KillReport {
  cycles: number
  kills: number
  acknowledged: number
  /** Messages in the store, acknowledged or not. */
  stored: number
  /** Keyed appends that a killed process had stored without saying so: asked for again, answered with the first result. */
  replayed: number
  lost: string[]
  gaps: string[]
  duplicates: string[]
  damages: string[]
  /** Writers that ended by themselves, and what they said. */
  crashes: string[]
  /** A writer that made no progress within the patience of a cycle. */
  starved: string[]
  /** The smallest and largest part of a window's acknowledgements that one of the writers had, over the whole run. */
  share: { min: number; max: number }
}

interface Acknowledgement {
  place: 'shared' | 'own' | 'keyed'
  name: string
  version: number
  id: string
  /** The message is older than the process that acknowledged it: a killed one had stored it. */
  earlier: boolean
}

interface Writer {
  number: number
  run: number
  child: Child
  /** Acknowledgements since it was started. */
  fresh: number
  /** Acknowledgements while all the writers were up. */
  together: number
  keyedFrom: number
  dying: boolean
}

const writers = 4
const patienceMs = 60_000
const project = 'torture'

export async function killWriters({
  folder,
  cycles,
  seed,
  store = `sqlite:${folder}/colloquy.db`,
  disturb,
  onCycle,
}: KillOptions): Promise<KillReport> {
  const choose = random(seed)
  const sessions = await prepare(store)
  const acknowledged: Acknowledgement[] = []
  const crashes: string[] = []
  const starved: string[] = []
  let kills = 0
  let windowOpen = false
  let heard: (() => void) | undefined

  function start(number: number, earlier?: Writer): Writer {
    const run = (earlier?.run ?? 0) + 1
    const keyedFrom = earlier?.keyedFrom ?? 0
    const input = { store, project, writer: number, run, ...sessions, own: sessions.own[number], keyedFrom }
    const writer: Writer = {
      number,
      run,
      fresh: 0,
      together: earlier?.together ?? 0,
      keyedFrom,
      dying: false,
      child: startChild({
        program: 'kill-writer.mjs',
        args: [JSON.stringify(input)],
        onLine(line) {
          const acknowledgement = JSON.parse(line) as Acknowledgement
          acknowledged.push(acknowledgement)
          writer.fresh++
          if (acknowledgement.place === 'keyed') writer.keyedFrom++
          if (windowOpen) writer.together++
          heard?.()
        },
      }),
    }
    void writer.child.ended.then(({ code, signal, words }) => {
      if (!writer.dying) crashes.push(`writer ${number} ended by itself (${code ?? signal}): ${words}`)
      heard?.()
    })
    return writer
  }

  /** Waits for a condition on the acknowledgements; false when it does not come true in time. */
  async function until(condition: () => boolean): Promise<boolean> {
    const deadline = Date.now() + patienceMs
    while (!condition() && crashes.length === 0) {
      const remainingMs = deadline - Date.now()
      if (remainingMs <= 0) return false
      const timeout = AbortSignal.timeout(remainingMs)
      await new Promise<void>(resolve => {
        heard = resolve
        timeout.addEventListener('abort', () => resolve(), { once: true })
      })
    }
    return true
  }

  const living = Array.from({ length: writers }, (_, number) => start(number))
  for (let cycle = 1; cycle <= cycles && crashes.length === 0; cycle++) {
    for (const writer of living) writer.fresh = 0
    if (!(await until(() => living.every(writer => writer.fresh > 0)))) {
      for (const writer of living) if (writer.fresh === 0) starved.push(`cycle ${cycle}: writer ${writer.number}`)
    }
    await disturb?.(cycle)
    windowOpen = true
    const goal = acknowledged.length + choose.between(20, 200)
    await until(() => acknowledged.length >= goal)
    windowOpen = false
    // Any moment is as good as another: in a transaction, a sync, a checkpoint, the feeding of the index.
    await pass(choose.below(20))
    const victims = choose.some(living, choose.between(1, writers))
    await endAll(victims)
    kills += victims.length
    for (const victim of victims) living[victim.number] = start(victim.number, victim)
    // Now and then one dies while it opens the store.
    if (choose.below(3) === 0) {
      const young = choose.pick(victims).number
      await pass(choose.below(200))
      await endAll([living[young]!])
      kills++
      living[young] = start(young, living[young])
    }
    onCycle?.(cycle, acknowledged.length)
  }
  await endAll(living)

  const found = await readBack(store, sessions.conversations)
  const shares = living.map(writer => writer.together)
  const total = Math.max(
    1,
    shares.reduce((sum, one) => sum + one, 0),
  )
  return {
    cycles,
    kills,
    acknowledged: acknowledged.length,
    stored: found.messages.size,
    replayed: acknowledged.filter(one => one.earlier).length,
    lost: acknowledged.filter(one => !found.has(one)).map(one => `${one.name} at version ${one.version}`),
    gaps: found.gaps,
    duplicates: found.duplicates,
    damages: found.damages,
    crashes,
    starved,
    share: { min: Math.min(...shares) / total, max: Math.max(...shares) / total },
  }
}

async function endAll(victims: readonly Writer[]): Promise<void> {
  for (const victim of victims) {
    victim.dying = true
    victim.child.kill()
  }
  await Promise.all(victims.map(victim => victim.child.ended))
}

async function prepare(store: string) {
  const colloquy = await openColloquy({ store, project, tokens: 'fast', sweepEveryMs: null })
  const session = (threadId: string) =>
    colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'writer', threadId, expiresInMs: null })
  const shared = await session('shared')
  const keyed = await session('keyed')
  const ownSessions = await Promise.all(Array.from({ length: writers }, (_, number) => session(`own-${number}`)))
  await colloquy.close()
  return {
    shared: shared.id,
    keyed: keyed.id,
    own: ownSessions.map(one => one.id),
    conversations: [shared, keyed, ...ownSessions].map(one => one.conversationId),
  }
}

/** Reads the log of every conversation as it is after the last kill. */
async function readBack(store: string, conversations: readonly string[]) {
  const colloquy = await openColloquy({ store, project, tokens: 'fast', sweepEveryMs: null })
  const messages = new Map<string, Message>()
  const gaps: string[] = []
  const duplicates: string[] = []
  try {
    for (const conversationId of conversations) {
      gaps.push(...(await gapsOf(colloquy, conversationId)))
      for await (const message of messagesOf(colloquy, conversationId)) {
        const name = message.content.split(' ', 1)[0]!
        if (messages.has(name))
          duplicates.push(`${name} at versions ${messages.get(name)!.version} and ${message.version}`)
        messages.set(name, message)
      }
    }
    const { damages } = await colloquy.verify({ allProjects: true })
    return {
      messages,
      gaps,
      duplicates,
      damages: damages.map(one => `${one.conversationId} ${one.version ?? ''}: ${one.what}`),
      has: ({ name, version, id }: Acknowledgement) =>
        messages.get(name)?.version === version && messages.get(name)?.id === id,
    }
  } finally {
    await colloquy.close()
  }
}

async function gapsOf(colloquy: Colloquy, conversationId: string): Promise<string[]> {
  const gaps: string[] = []
  let version = 0
  for (;;) {
    const events = await colloquy.conversations.getEvents(conversationId, { from: version + 1 })
    for (const event of events) {
      if (event.version !== version + 1) gaps.push(`${conversationId}: ${version} is followed by ${event.version}`)
      version = event.version
    }
    if (events.length === 0) return gaps
  }
}

export async function* messagesOf(colloquy: Colloquy, conversationId: string): AsyncGenerator<Message> {
  let after = 0
  for (;;) {
    const page = await colloquy.conversations.getMessages(conversationId, { after, limit: 500 })
    yield* page
    if (page.length === 0) return
    after = page.at(-1)!.version
  }
}
