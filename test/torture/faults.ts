/**
 * A disk that fails: every Nth write or sync behind the shim ends in EIO or ENOSPC, some after half of their bytes.
 * Each append is refused with an error of ours or is durable; the disk well again, the store goes on.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openColloquy } from 'colloquy'
import { runChild } from './child.ts'
import { messagesOf } from './kill.ts'
import { random } from './random.ts'
import { type Fault, faultText, shimEnvironment } from './shim.ts'
import { acknowledgements, powerLossImage, readTrace, unsyncedAppends, walSyncs } from './trace.ts'

export const faults: readonly Fault[] = [
  { write: 2, error: 'EIO' },
  { write: 7, error: 'EIO' },
  { write: 31, error: 'EIO', short: true },
  { write: 3, error: 'ENOSPC' },
  { write: 11, error: 'ENOSPC', short: true },
  { write: 1, error: 'ENOSPC' },
  { sync: 2, error: 'EIO' },
  { sync: 5, error: 'EIO' },
  { sync: 3, error: 'ENOSPC' },
  { sync: 1, error: 'EIO' },
  { write: 13, sync: 3, error: 'EIO', short: true },
  { write: 3, error: 'EIO', only: '.db-wal' },
  { write: 2, error: 'ENOSPC', only: '.db-search' },
  { write: 5, error: 'EIO', fromStart: true },
  { write: 97, error: 'EIO', fromStart: true },
  { write: 9, error: 'ENOSPC', short: true, fromStart: true },
  { write: 101, error: 'ENOSPC', short: true, fromStart: true },
  { sync: 2, error: 'EIO', fromStart: true },
  { sync: 11, error: 'EIO', fromStart: true },
]

interface Said {
  kind: 'open' | 'session' | 'append' | 'verify' | 'search' | 'close' | 'end'
  name: string
  outcome: 'done' | 'refused'
  code?: string
  words?: string
  version?: number
  id?: string
}

export interface FaultReport {
  fault: string
  acknowledged: number
  /** Number of refused appends by code. */
  refused: Record<string, number>
  /** The same for opening, searching, verifying and closing. */
  refusedBeside: Record<string, number>
  /** Whatever breaks a promise, in words. */
  problems: string[]
}

const project = 'torture'

export async function underFault({
  folder,
  library,
  fault,
  appends,
}: {
  folder: string
  library: string
  fault: Fault
  appends: number
}): Promise<FaultReport> {
  const place = mkdtempSync(join(folder, 'shimmed-'))
  const store = `sqlite:${place}/colloquy.db`
  const { said, problems } = await writeBehindShim({ place, store, library, fault, appends })
  const refused: Record<string, number> = {}
  const refusedBeside: Record<string, number> = {}
  for (const { kind, code } of said) {
    const counts = kind === 'append' ? refused : refusedBeside
    if (code !== undefined) counts[code] = (counts[code] ?? 0) + 1
  }
  for (const one of said) {
    if (one.outcome === 'refused' && !one.code?.startsWith('store/')) {
      problems.push(`${one.name} was refused with ${one.code} (${one.words})`)
    }
    if (one.name.startsWith('after-') && one.outcome !== 'done') {
      problems.push(`${one.name} was refused with ${one.code} though the disk was well again (${one.words})`)
    }
  }
  const acknowledged = said.filter(one => one.kind === 'append' && one.outcome === 'done')
  // "Nothing was written" is a promise of its own.
  const unwritten = said.filter(one => one.kind === 'append' && one.code === 'store/full')
  if (said.some(one => one.kind === 'open' && one.outcome === 'done')) {
    problems.push(...(await differences(store, { acknowledged, unwritten })))
  }
  rmSync(place, { recursive: true, force: true })
  return { fault: faultText(fault), acknowledged: acknowledged.length, refused, refusedBeside, problems }
}

async function writeBehindShim({
  place,
  store,
  library,
  fault,
  appends,
  trace,
}: {
  place: string
  store: string
  library: string
  fault?: Fault
  appends: number
  trace?: string
}): Promise<{ said: Said[]; problems: string[] }> {
  const said: Said[] = []
  const problems: string[] = []
  const input = { store, project, folder: place, appends, waitsForFaults: fault !== undefined && !fault.fromStart }
  const child = await runChild({
    program: 'fault-writer.mjs',
    args: [JSON.stringify(input)],
    env: shimEnvironment(library, { path: place, ...(trace !== undefined && { trace }) }, fault),
    onLine: line => said.push(JSON.parse(line) as Said),
  })
  if (child.hung) problems.push(`it hung after ${said.at(-1)?.name}`)
  else if (child.code !== 0 || said.at(-1)?.kind !== 'end') {
    problems.push(`it ended with ${child.code ?? child.signal} after ${said.at(-1)?.name}: ${child.words}`)
  }
  return { said, problems }
}

/** Opens the store on a healthy disk and compares it with what the writer was told. */
async function differences(
  store: string,
  { acknowledged, unwritten }: { acknowledged: readonly Said[]; unwritten: readonly Said[] },
): Promise<string[]> {
  const colloquy = await openColloquy({ store, project, tokens: 'fast', sweepEveryMs: null })
  const problems: string[] = []
  try {
    const conversation = await colloquy.conversations.findConversation({ type: 'thread', threadId: 'faults' })
    const storedByKey = new Map<string, { version: number; id: string }>()
    if (conversation) {
      let version = 0
      for (const event of await colloquy.conversations.getEvents(conversation.id, { limit: 100_000 })) {
        if (event.version !== version + 1) problems.push(`version ${version} is followed by ${event.version}`)
        version = event.version
      }
      for await (const { content, version, id } of messagesOf(colloquy, conversation.id)) {
        const name = content.split(' ', 1)[0]!
        if (storedByKey.has(name)) problems.push(`${name} stands twice`)
        storedByKey.set(name, { version, id })
      }
    }
    for (const { name, version, id } of acknowledged) {
      const stored = storedByKey.get(name)
      if (stored?.version !== version || stored?.id !== id) problems.push(`${name} was acknowledged and is lost`)
    }
    for (const { name } of unwritten) {
      if (storedByKey.has(name)) problems.push(`${name} is there though "nothing was written" was said`)
    }
    const { damages } = await colloquy.verify({ allProjects: true })
    for (const damage of damages) problems.push(`verify: ${damage.version ?? ''} ${damage.what}`)
  } finally {
    await colloquy.close()
  }
  return problems
}

export interface PowerLossReport {
  acknowledged: number
  walSyncs: number
  /** Acknowledgements that came before their sync. */
  unsynced: string[]
  /** Number of simulated power losses. */
  losses: number
  problems: string[]
}

/** Records a run on a healthy disk, then loses the power at random acknowledgements of it. */
export async function losePower({
  folder,
  library,
  appends,
  losses,
  seed,
}: {
  folder: string
  library: string
  appends: number
  losses: number
  seed: number
}): Promise<PowerLossReport> {
  const choose = random(seed)
  const place = mkdtempSync(join(folder, 'traced-'))
  const store = `sqlite:${place}/colloquy.db`
  const file = join(folder, 'trace')
  const { said, problems } = await writeBehindShim({ place, store, library, appends, trace: file })
  const trace = readTrace(file)
  const marks = acknowledgements(trace)
  const moments = choose.some([...marks.keys()], losses)
  for (const moment of moments) {
    const to = join(folder, `loss-${moment}`)
    mkdirSync(to)
    powerLossImage(trace, { index: marks[moment]!.index, to, choose })
    const names = new Set(marks.slice(0, moment + 1).map(one => one.name))
    const acknowledged = said.filter(one => one.kind === 'append' && one.outcome === 'done' && names.has(one.name))
    const found = await differences(`sqlite:${to}/colloquy.db`, { acknowledged, unwritten: [] })
    problems.push(...found.map(problem => `power lost after acknowledgement ${moment + 1}: ${problem}`))
    rmSync(to, { recursive: true, force: true })
  }
  const report = { acknowledged: marks.length, walSyncs: walSyncs(trace), unsynced: unsyncedAppends(trace) }
  rmSync(file)
  return { ...report, losses: moments.length, problems }
}
