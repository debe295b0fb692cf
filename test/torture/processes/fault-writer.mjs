/**
 * Appends behind the shim and says of each append how it ended: on descriptor 3, and for those acknowledged also in a
 * file that the shim sees, so that acknowledgements stand in its record among the writes and syncs.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { setTimeout as pass } from 'node:timers/promises'
import { ColloquyError, openColloquy } from 'colloquy'

const { store, project, folder, appends, waitsForFaults } = JSON.parse(process.argv[2])
const acks = openSync(`${folder}/acks`, 'a')
const control = openSync(`${folder}/control`, 'w')

const say = what => writeSync(3, `${JSON.stringify(what)}\n`)
const codeOf = error => (error instanceof ColloquyError ? error.code : `untyped: ${error?.stack ?? error}`)

async function attempt(kind, name, work) {
  try {
    const value = await work()
    return { value, said: { kind, name, outcome: 'done' } }
  } catch (error) {
    return { said: { kind, name, outcome: 'refused', code: codeOf(error), words: String(error?.message) } }
  }
}

/** Opening may be refused too; it is tried again, as a caller would. */
async function open() {
  for (let tries = 1; tries <= 50; tries++) {
    const { value, said } = await attempt('open', `open ${tries}`, () =>
      openColloquy({ store, project, tokens: 'fast', sweepEveryMs: null, busyTimeoutMs: 5_000 }),
    )
    say(said)
    if (value) return value
  }
  return undefined
}

async function sessionOf(colloquy) {
  for (let tries = 1; tries <= 50; tries++) {
    const { value, said } = await attempt('session', `session ${tries}`, () =>
      colloquy.sessions.getOrCreateSession({
        type: 'thread',
        agentType: 'writer',
        threadId: 'faults',
        expiresInMs: null,
      }),
    )
    say(said)
    if (value) return value
  }
  return undefined
}

async function append(colloquy, session, name, number) {
  const words = number % 13 === 12 ? 40_000 : number % 5 === 4 ? 1_500 : 50
  const content = `${name} fault ${Array.from({ length: words }, (_, at) => (at * number).toString(36)).join(' ')}`
  const { value, said } = await attempt('append', name, () =>
    colloquy.sessions.addMessage(session.id, { role: 'user', content }),
  )
  if (value) writeSync(acks, `${name}\n`)
  say({ ...said, ...(value && { version: value.version, id: value.id }) })
}

const colloquy = await open()
const session = colloquy && (await sessionOf(colloquy))
if (session) {
  if (waitsForFaults) writeSync(control, '1')
  for (let number = 0; number < appends; ) {
    const width = 1 + (number % 4)
    const group = Array.from({ length: Math.min(width, appends - number) }, (_, index) => number + index)
    await Promise.all(group.map(one => append(colloquy, session, `under-${one}`, one)))
    number += group.length
    // Gives the worker a turn: its index and its checkpoints meet the faults, too.
    if (number % 40 < 4) await pass(1)
  }
  const { said } = await attempt('verify', 'verify', () => colloquy.verify())
  say(said)
  const search = await attempt('search', 'search', () => colloquy.conversations.search({ text: 'fault' }))
  say(search.said)
  // The same open store must be good again as soon as the disk is.
  writeSync(control, '0')
  for (let number = 0; number < 3; number++) await append(colloquy, session, `after-${number}`, number)
  writeSync(control, '1')
}
if (colloquy) say((await attempt('close', 'close', () => colloquy.close())).said)
closeSync(acks)
closeSync(control)
say({ kind: 'end', name: 'end', outcome: 'done' })
