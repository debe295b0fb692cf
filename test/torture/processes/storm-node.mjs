/**
 * One node of a storm: dispatches until it is told to stop. Its agents fail now and then, come back for more, or go in
 * circles. Says over descriptor 3 what it begins and ends, with the time: `begin BEAD MS`, `end BEAD MS`, `lost BEAD`.
 */
import { writeSync } from 'node:fs'
import { setTimeout as pass } from 'node:timers/promises'
import { openColloquy } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'

const { store, failShare, moreShare, workMs, leaseMs, concurrency, hopLimit } = JSON.parse(process.argv[2])
const say = (...words) => writeSync(3, `${words.join(' ')}\n`)
const fresh = () => Array.from({ length: 10 }, () => Math.random().toString(36).slice(2)).join(' ')

const model = scriptedModel(async ({ system, messages }) => {
  const bead = /Bead (\S+):/.exec(JSON.stringify(messages))?.[1]
  say('begin', bead, Date.now())
  await pass(workMs * (0.5 + Math.random()))
  say('end', bead, Date.now())
  if (system.includes('"looper"')) return 'I will look at the order processor next and see what it does there.'
  const chance = Math.random()
  if (chance < failShare) return { failure: { kind: 'overloaded', message: 'Too busy.' } }
  if (chance < failShare + moreShare) return `So far I know this: ${fresh()}`
  return { calls: [{ name: 'complete', input: { summary: `Done: ${fresh()}` } }] }
})

const colloquy = await openColloquy({
  store,
  project: 'storm',
  tokens: 'fast',
  sweepEveryMs: null,
  agents: { model, leaseMs },
  dispatch: { leaseMs, concurrency, lookEveryMs: 200, guards: { backOffMs: 20, mostBackOffMs: 500, hopLimit } },
})
const dispatcher = colloquy.dispatcher.start({
  onUpdate: update => {
    if (update.type === 'lost') say('lost', update.item.beadId)
  },
})
say('ready')
process.stdin.once('end', () => void dispatcher.stop()).resume()
await dispatcher.over
await colloquy.close()
