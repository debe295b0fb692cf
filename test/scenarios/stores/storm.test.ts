/** Several nodes share a queue on a server; they die, stall and come back. The long version: `npm run torture -- storm`. */
import { EventEmitter, once } from 'node:events'
import { openColloquy } from 'colloquy'
import { expect, it, onTestFinished } from 'vitest'
import { freshSchema } from '../../support/postgres.ts'
import { type Child, startChild } from '../../torture/child.ts'
import { storm } from '../../torture/storm.ts'
import { madeBeads, recordedBeads, recordedBeadsAreThere } from '../../torture/storm-beads.ts'

const quick = { failShare: 0.3, moreShare: 0.1, workMs: 100, leaseMs: 3_000, concurrency: 2, hopLimit: 20, seed: 2026 }

it('[P11] three nodes finish a graph of beads although nodes are killed: each done once or parked with a reason', async () => {
  const { url } = await freshSchema()
  const beads = madeBeads(20, 2026)
  const options = {
    ...quick,
    store: url,
    beads,
    looperEvery: 10,
    nodes: 3,
    killEveryMs: 500,
    mostKills: 3,
    withinMs: 150_000,
  }
  const { problems, ...report } = await storm(options)
  console.log(JSON.stringify(report))
  expect(problems).toEqual([])
  expect(report.done + report.parked).toBe(20)
  expect(report.kills).toBeGreaterThan(0)
  expect(report.tripped['no-progress']).toBeGreaterThan(0)
}, 180_000)

it('a storm takes recorded beads with their real dependencies', async ({ skip }) => {
  if (!recordedBeadsAreThere) skip('the recorded beads (../shared/data/beads) are not here')
  const beads = recordedBeads(200)
  expect(beads).toHaveLength(200)
  expect(beads.flatMap(bead => bead.dependencies).length).toBeGreaterThan(100)
  const known = new Set<string>()
  for (const bead of beads) {
    for (const id of bead.dependencies) expect(known.has(id)).toBe(true)
    known.add(bead.beadId)
  }
})

it('[P11] a write of a node that was stopped past its lease is refused: its item is done once, by another', async () => {
  const { url } = await freshSchema()
  const colloquy = await openColloquy({ store: url, project: 'storm', tokens: 'fast', sweepEveryMs: null })
  onTestFinished(() => colloquy.close())
  await colloquy.work.addBead({ beadId: 'only', title: 'The only one' })
  const lines: string[] = []
  const seen = new EventEmitter()
  const start = (own: { workMs: number; leaseMs: number }): Child => {
    const settings = { store: url, ...quick, failShare: 0, moreShare: 0, ...own }
    const child = startChild({
      program: 'storm-node.mjs',
      args: [JSON.stringify(settings)],
      onLine: line => {
        lines.push(line)
        seen.emit('line')
      },
    })
    onTestFinished(() => child.kill())
    return child
  }
  const until = async (word: string) => {
    while (!lines.some(line => line.startsWith(word))) await once(seen, 'line')
  }
  // Its agent has not answered when it is stopped, and answers at once when it goes on.
  const stalled = start({ workMs: 3_000, leaseMs: 2_000 })
  await until('begin only')
  process.kill(stalled.pid, 'SIGSTOP')
  const other = start({ workMs: 1, leaseMs: 30_000 })
  const done = colloquy.subscribe({ name: 'work:updated', from: 'start' })
  for await (const update of done) if (update.action === 'moved' && update.to === 'done') break
  const { conversationId } = await colloquy.work.getBead('only')
  const before = await colloquy.conversations.getEvents(conversationId)
  process.kill(stalled.pid, 'SIGCONT')
  await until('lost only')
  for (const child of [stalled, other]) child.endInput()
  for (const child of [stalled, other]) expect((await child.ended).code).toBe(0)
  const after = await colloquy.conversations.getEvents(conversationId)
  const added = after.slice(before.length).map(({ event }) => event.type)
  expect(added.filter(type => type !== 'run.ended' && type !== 'work.reported')).toEqual([])
  const types = after.map(({ event }) => event.type)
  expect(types.filter(type => type === 'dispatch.started')).toHaveLength(2)
  expect(types.filter(type => type === 'work.reported')).toHaveLength(1)
  const outcomes = after.flatMap(({ event }) => (event.type === 'dispatch.ended' ? [event.outcome] : []))
  expect(outcomes).toEqual(['crashed', 'done'])
  expect((await colloquy.verify()).clean).toBe(true)
}, 120_000)
