/**
 * A storm over one queue: beads with dependencies, agents that fail and one that goes in circles, several nodes, and one
 * of them killed again and again. At the end every bead is done or parked with a reason, in the order of dependencies,
 * none was worked on twice at once, and none was given to agents more often than allowed.
 */
import { setTimeout as pass } from 'node:timers/promises'
import { type Colloquy, openColloquy } from 'colloquy'
import { type Child, startChild } from './child.ts'
import { random } from './random.ts'
import type { StormBead } from './storm-beads.ts'

export interface StormOptions {
  store: string
  beads: readonly StormBead[]
  /** Every so many beads one goes to the agent that goes in circles. */
  looperEvery: number
  nodes: number
  /** One node dies this often: one that is at work. */
  killEveryMs: number
  /** So often at the most. */
  mostKills?: number
  /** Share of answers that are failures. */
  failShare: number
  /** Share of answers that only report progress: the bead is given out again. */
  moreShare: number
  workMs: number
  leaseMs: number
  concurrency: number
  hopLimit: number
  seed: number
  /** The storm failed when it is not over by then. */
  withinMs: number
  onProgress?: (done: number, parked: number, kills: number) => void
}

export interface StormReport {
  beads: number
  done: number
  parked: number
  kills: number
  dispatches: number
  /** Dispatches whose node died, and that others took up. */
  crashed: number
  failed: number
  tripped: Record<string, number>
  tookMs: number
  problems: string[]
}

interface Node {
  name: string
  child: Child
  isDying: boolean
}

/** One stretch of work of an agent on a bead, as the node that did it says. */
interface Stretch {
  bead: string
  node: string
  from: number
  to: number | undefined
}

const project = 'storm'

export async function storm(options: StormOptions): Promise<StormReport> {
  const { store, nodes: count, killEveryMs, seed, withinMs } = options
  const choose = random(seed)
  const problems: string[] = []
  const stretches: Stretch[] = []
  const colloquy = await openColloquy({ store, project, tokens: 'fast', sweepEveryMs: null })
  try {
    const started = performance.now()
    for (const [index, bead] of options.beads.entries()) {
      const isLooping = index % options.looperEvery === options.looperEvery - 1
      await colloquy.work.addBead({ ...bead, ...(isLooping && { agent: 'looper' }) })
    }
    let lives = 0
    const start = (number: number): Node => {
      const name = `node ${number}, life ${++lives}`
      const { failShare, moreShare, workMs, leaseMs, concurrency, hopLimit } = options
      const child = startChild({
        program: 'storm-node.mjs',
        args: [JSON.stringify({ store, failShare, moreShare, workMs, leaseMs, concurrency, hopLimit })],
        onLine: line => note(stretches, name, line),
      })
      const node: Node = { name, child, isDying: false }
      child.ended.then(({ code, words }) => {
        const at = Date.now()
        // A node that died had the item until then.
        for (const stretch of stretches) if (stretch.node === name) stretch.to ??= at
        if (!node.isDying && code !== 0) problems.push(`${name} ended by itself (${code}): ${words.slice(0, 500)}`)
      })
      return node
    }
    const running = Array.from({ length: count }, (_, number) => start(number))
    let kills = 0
    let lastKill = performance.now()
    for (;;) {
      const { done, parked } = await tally(colloquy)
      options.onProgress?.(done, parked, kills)
      if (done + parked === options.beads.length) break
      if (performance.now() - started > withinMs) {
        problems.push(`after ${withinMs} ms ${options.beads.length - done - parked} beads were neither done nor parked`)
        break
      }
      const busy = running.filter(node => stretches.some(one => one.node === node.name && one.to === undefined))
      const mayKill = kills < (options.mostKills ?? Number.POSITIVE_INFINITY)
      if (mayKill && busy.length > 0 && performance.now() - lastKill >= killEveryMs) {
        lastKill = performance.now()
        const victim = choose.pick(busy)
        victim.isDying = true
        victim.child.kill()
        await victim.child.ended
        kills++
        const number = running.indexOf(victim)
        running[number] = start(number)
      }
      await pass(Math.min(options.workMs, killEveryMs / 4))
    }
    const tookMs = Math.round(performance.now() - started)
    for (const node of running) {
      node.isDying = true
      node.child.endInput()
    }
    await Promise.all(running.map(node => node.child.ended))
    problems.push(...overlaps(stretches))
    const totals = await checkLog(colloquy, options, problems)
    if (!(await colloquy.verify()).clean) problems.push('the log is damaged')
    return { beads: options.beads.length, kills, tookMs, ...totals, problems }
  } finally {
    await colloquy.close()
  }
}

function note(stretches: Stretch[], node: string, line: string): void {
  const [what, bead = '', at] = line.split(' ')
  if (what === 'begin') stretches.push({ bead, node, from: Number(at), to: undefined })
  // Stalled for longer than its lease: what it did meanwhile does not count, and the log has none of it.
  if (what === 'lost') {
    const lost = stretches.findLastIndex(one => one.bead === bead && one.node === node)
    if (lost >= 0) stretches.splice(lost, 1)
  }
  if (what !== 'end') return
  const open = stretches.findLast(one => one.bead === bead && one.node === node && one.to === undefined)
  if (open) open.to = Number(at)
}

async function tally(colloquy: Colloquy): Promise<{ done: number; parked: number }> {
  const counts = { done: 0, parked: 0 }
  for (const state of ['done', 'parked'] as const) {
    let cursor: string | undefined
    do {
      const page = await colloquy.work.listBeads({ states: [state], limit: 200, ...(cursor && { cursor }) })
      counts[state] += page.items.length
      cursor = page.next
    } while (cursor !== undefined)
  }
  return counts
}

/** Two stretches on the same bead at the same time. */
function overlaps(stretches: readonly Stretch[]): string[] {
  const problems: string[] = []
  for (const bead of new Set(stretches.map(one => one.bead))) {
    const sorted = stretches.filter(one => one.bead === bead).sort((a, b) => a.from - b.from)
    for (const [index, stretch] of sorted.entries()) {
      const next = sorted[index + 1]
      if (next && next.from < (stretch.to ?? Number.POSITIVE_INFINITY))
        problems.push(`${bead} was worked on by ${stretch.node} and ${next.node} at once`)
    }
  }
  return problems
}

type Told = Pick<StormReport, 'done' | 'parked' | 'dispatches' | 'crashed' | 'failed' | 'tripped'>

/** Reads the whole log in its order, as any subscriber would. */
async function checkLog(colloquy: Colloquy, options: StormOptions, problems: string[]): Promise<Told> {
  const totals: Told = { done: 0, parked: 0, dispatches: 0, crashed: 0, failed: 0, tripped: {} }
  const dependencies = new Map(options.beads.map(bead => [bead.beadId, bead.dependencies]))
  const states = new Map<string, { state: string; reason: string; open?: string; hops: number; done: number }>()
  const { events } = await colloquy.stats()
  let read = 0
  for await (const { event: recorded } of colloquy.subscribe({ from: 'start' })) {
    const { event } = recorded
    const item = 'item' in event ? event.item : undefined
    if (item?.type === 'bead') {
      const id = item.beadId
      const bead = states.get(id) ?? { state: 'open', reason: '', hops: 0, done: 0 }
      states.set(id, bead)
      if (event.type === 'dispatch.started') {
        totals.dispatches++
        bead.hops++
        if (bead.open !== undefined) problems.push(`${id} was given to two at once`)
        bead.open = event.dispatchId
        for (const before of dependencies.get(id) ?? [])
          if (states.get(before)?.state !== 'done') problems.push(`${id} began before ${before} was done`)
      } else if (event.type === 'dispatch.ended') {
        if (event.dispatchId !== bead.open) problems.push(`${id}: a dispatch ended that was not open`)
        delete bead.open
        if (event.outcome === 'crashed') totals.crashed++
        if (event.outcome === 'failed') totals.failed++
      } else if (event.type === 'work.moved') {
        bead.state = event.to
        bead.reason = event.reason ?? ''
        if (event.to === 'done') bead.done++
      } else if (event.type === 'guard.tripped') {
        totals.tripped[event.kind] = (totals.tripped[event.kind] ?? 0) + 1
      }
    }
    if (++read === events) break
  }
  for (const { beadId } of options.beads) {
    const { state, reason, open, hops = 0, done = 0 } = states.get(beadId) ?? {}
    if (state === 'done') totals.done++
    else if (state === 'parked' && reason !== '') totals.parked++
    else problems.push(`${beadId} ended ${state} (${reason})`)
    if (open !== undefined) problems.push(`${beadId}: its last dispatch never ended`)
    if (hops > options.hopLimit) problems.push(`${beadId} was given to agents ${hops} times`)
    if (done > 1) problems.push(`${beadId} was done ${done} times`)
  }
  return totals
}
