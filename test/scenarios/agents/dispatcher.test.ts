/** Work is given to agents by priority and dependency, tried again, and parked with its reason when it leads nowhere. */
import { type Colloquy, isOfType, type OpenOptions } from 'colloquy'
import type { ModelRequest } from 'colloquy/models'
import { type Scripted, scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { freshColloquy, hour } from '../../support/colloquy.ts'

const complete = (summary: string): Scripted => ({ calls: [{ name: 'complete', input: { summary } }] })
const handOn = (to: string, message: string): Scripted => ({ calls: [{ name: 'hand_on', input: { to, message } }] })

const textOf = ({ messages }: ModelRequest) => JSON.stringify(messages)
const askedOf = ({ messages }: ModelRequest) => JSON.stringify(messages.at(-1))
/** Which bead a request is about. */
const beadIn = (request: ModelRequest) => /Bead ([\w-]+):/.exec(textOf(request))?.[1] ?? '?'

const quick = { lookEveryMs: 50, guards: { backOffMs: 1 } }

async function beads(
  model: (request: ModelRequest) => Scripted | Promise<Scripted>,
  { dispatch, agents, ...options }: OpenOptions = {},
) {
  return freshColloquy({
    agents: { model: scriptedModel(model), ...agents },
    dispatch: { ...quick, ...dispatch, guards: { ...quick.guards, ...dispatch?.guards } },
    ...options,
  })
}

async function typesOf(colloquy: Colloquy, beadId: string): Promise<string[]> {
  const { conversationId } = await colloquy.work.getBead(beadId)
  return (await colloquy.conversations.getEvents(conversationId)).map(({ event }) => event.type)
}

describe('a dispatcher', () => {
  it('a dispatcher takes beads by priority and dependency, and stores their results', async () => {
    const order: string[] = []
    const told: string[] = []
    const { colloquy } = await beads(
      request => {
        order.push(beadIn(request))
        told.push(textOf(request))
        return complete(`${beadIn(request)} is built`)
      },
      { dispatch: { concurrency: 1 } },
    )
    await colloquy.work.addBead({ beadId: 'form', title: 'The form', priority: 3, description: 'Two fields' })
    await colloquy.work.addBead({ beadId: 'tests', title: 'Its tests', priority: 0, dependencies: ['form'] })
    await colloquy.work.addBead({ beadId: 'docs', title: 'Its page', priority: 1 })
    const lines: string[] = []
    const counts = await colloquy.dispatcher.once({
      onUpdate: update => lines.push(`${update.type} ${update.item.type === 'bead' ? update.item.beadId : ''}`),
    })
    expect(order).toEqual(['docs', 'form', 'tests'])
    expect(counts).toMatchObject({ started: 3, done: 3, parked: 0 })
    expect(lines).toEqual(['started docs', 'ended docs', 'started form', 'ended form', 'started tests', 'ended tests'])
    expect(await colloquy.work.getBead('form')).toMatchObject({
      state: 'done',
      result: { summary: 'form is built', by: { agent: 'dev' } },
      attempts: { count: 1, last: { outcome: 'done' } },
    })
    expect(told[1]).toContain('Two fields')
    expect(told[2]).toContain('form is built')
    expect((await colloquy.verify()).clean).toBe(true)
  })

  it('a dispatcher continues the session when there is more to do, and begins a new one when it has expired', async () => {
    const requests: string[] = []
    const sessions = new Set<string>()
    const place = await beads(
      async request => {
        requests.push(textOf(request))
        const { items } = await place.colloquy.sessions.listSessions({ agentName: 'dev' })
        sessions.add(items[0]!.id)
        if (requests.length === 1) return 'I found that workers are started in ProcessOrder.'
        return requests.length < 3 ? 'No context is cancelled there, as far as I can see now.' : complete('Fixed')
      },
      { dispatch: { concurrency: 1, guards: { coolDownMs: 0 } } },
    )
    await place.colloquy.work.addBead({ beadId: 'leak', title: 'Memory leak' })
    let ended = 0
    const counts = await place.colloquy.dispatcher.once({
      onUpdate: ({ type }) => {
        if (type === 'ended' && ++ended === 2) place.pass(25 * hour)
      },
    })
    expect(counts).toMatchObject({ started: 3, continued: 2, done: 1 })
    expect(requests[1]).toContain('ProcessOrder')
    expect(requests[1]).toContain('Continue with it')
    expect(requests[2]).not.toContain('ProcessOrder')
    expect(sessions.size).toBe(2)
  })

  it('a dispatcher retries what fails, later each time, and parks what keeps failing with its reason', async () => {
    let calls = 0
    const { colloquy } = await beads(request => {
      if (beadIn(request) === 'bad') return { failure: { kind: 'overloaded', message: 'Too busy.' } }
      return ++calls < 3 ? { failure: { kind: 'network', message: 'Gone.' } } : complete('Done at last')
    })
    await colloquy.work.addBead({ beadId: 'flaky', title: 'Flaky' })
    await colloquy.work.addBead({ beadId: 'bad', title: 'Bad' })
    await colloquy.work.addBead({ beadId: 'after', title: 'After the bad one', dependencies: ['bad'] })
    await colloquy.work.addBead({ beadId: 'last', title: 'After that', dependencies: ['after'] })
    await colloquy.dispatcher.once()
    expect(await colloquy.work.getBead('flaky')).toMatchObject({ state: 'done', attempts: { count: 3, failed: 0 } })
    expect(await colloquy.work.getBead('bad')).toMatchObject({ state: 'parked', attempts: { count: 5, failed: 5 } })
    expect(await colloquy.dispatcher.parked()).toMatchObject([
      { item: { beadId: 'bad' }, guard: 'failures', reason: 'it failed 5 times in a row', attempts: 5 },
      { item: { beadId: 'after' }, waitsFor: 'bad', reason: 'it waits for bead bad (Bad), which is parked' },
      { item: { beadId: 'last' }, waitsFor: 'after' },
    ])
    const { conversationId } = await colloquy.work.getBead('bad')
    const attempts = (await colloquy.conversations.getEvents(conversationId)).filter(one =>
      isOfType(one, 'work.attempted'),
    )
    expect(attempts.every(({ event }) => event.reason?.includes('Too busy.'))).toBe(true)
    expect(attempts.slice(0, -1).every(({ event }) => event.notBefore !== undefined)).toBe(true)
  })

  it('a dispatcher resumes a parked item when a person clears it, and with it what waited for it', async () => {
    let isBroken = true
    const { colloquy } = await beads(() =>
      isBroken ? { failure: { kind: 'network', message: 'Gone.' } } : complete('Done'),
    )
    await colloquy.work.addBead({ beadId: 'bad', title: 'Bad' })
    await colloquy.work.addBead({ beadId: 'after', title: 'After', dependencies: ['bad'] })
    await colloquy.dispatcher.once()
    isBroken = false
    expect(await colloquy.dispatcher.once()).toMatchObject({ started: 0 })
    // Moving it alone clears no guard: it is parked again, and no model is asked.
    await colloquy.work.moveBead('bad', 'open')
    expect(await colloquy.dispatcher.once()).toMatchObject({ started: 0 })
    expect((await colloquy.work.getBead('bad')).state).toBe('parked')
    await colloquy.dispatcher.clear({ type: 'bead', beadId: 'bad' }, 'the network is back')
    expect(await colloquy.dispatcher.once()).toMatchObject({ started: 2, done: 2 })
    expect((await colloquy.work.getBead('after')).state).toBe('done')
    expect(await colloquy.dispatcher.parked()).toEqual([])
  })

  it('a dispatcher stops an agent that goes in circles, and two that hand the work to each other', async () => {
    let number = 0
    const fresh = () => Array.from({ length: 12 }, () => `word${number++}`).join(' ')
    const { colloquy } = await beads(request => {
      const asked = beadIn(request)
      if (asked === 'circle') return 'I will look at the order processor next and see what it does.'
      return handOn(request.system.includes('reviewer') ? 'dev' : 'qa', fresh())
    })
    await colloquy.work.addBead({ beadId: 'circle', title: 'Circle' })
    await colloquy.work.addBead({ beadId: 'tennis', title: 'Tennis' })
    await colloquy.dispatcher.once()
    expect(await colloquy.dispatcher.parked()).toMatchObject([
      { item: { beadId: 'circle' }, guard: 'no-progress' },
      { item: { beadId: 'tennis' }, guard: 'alternation' },
    ])
    expect((await typesOf(colloquy, 'tennis')).filter(type => type === 'dispatch.started')).toHaveLength(7)
    expect((await typesOf(colloquy, 'tennis')).filter(type => type === 'guard.tripped')).toHaveLength(1)
  })

  it('a dispatcher passes a hand-off on with its message, and parks what an agent parks', async () => {
    const asked: string[] = []
    const { colloquy } = await beads(request => {
      if (beadIn(request) === 'stuck') return { calls: [{ name: 'park', input: { reason: 'Which colour?' } }] }
      if (!request.system.includes('reviewer')) return handOn('qa', 'Look at the error text of the form')
      asked.push(askedOf(request))
      return complete('It is right')
    })
    await colloquy.work.addBead({ beadId: 'form', title: 'Form' })
    await colloquy.work.addBead({ beadId: 'stuck', title: 'Stuck' })
    await colloquy.dispatcher.once()
    expect(asked[0]).toContain('Look at the error text of the form')
    expect(await colloquy.work.getBead('form')).toMatchObject({ state: 'done', result: { by: { agent: 'qa' } } })
    expect(await colloquy.dispatcher.parked()).toMatchObject([{ item: { beadId: 'stuck' }, reason: 'Which colour?' }])
  })

  it('a dispatcher keeps the limits of the process, of the project and of a model', async () => {
    let now = 0
    let most = 0
    const model = scriptedModel(async () => {
      most = Math.max(most, ++now)
      await new Promise(resolve => setImmediate(resolve))
      now--
      return complete('Done')
    }, 'busy')
    for (const [dispatch, limit] of [
      [{ concurrency: 3 }, 3],
      [{ concurrency: 5, perProject: 2 }, 2],
      [{ concurrency: 5, perModel: { busy: 1 } }, 1],
    ] as const) {
      most = 0
      const { colloquy } = await freshColloquy({ agents: { model }, dispatch: { ...quick, ...dispatch } })
      for (let index = 0; index < 8; index++) await colloquy.work.addBead({ beadId: `b${index}`, title: `B${index}` })
      // Two that share the queue share the limits of project and model.
      const [one, other] = [colloquy.dispatcher.start({ once: true }), colloquy.dispatcher.start({ once: true })]
      const counts = await Promise.all([one.over, other.over])
      expect(counts.reduce((sum, each) => sum + each.done, 0)).toBe(8)
      if (limit < 3) expect(most).toBeLessThanOrEqual(limit)
      else expect(most).toBeLessThanOrEqual(limit * 2)
    }
  })

  it('a dispatcher that is stopped keeps the answers so far, and resumes later', async () => {
    const requests: string[] = []
    let isStopped = false
    const place = await beads(async request => {
      requests.push(askedOf(request))
      if (isStopped) return complete('Done')
      await new Promise(() => undefined)
      return ''
    })
    const { colloquy } = place
    await colloquy.work.addBead({ beadId: 'form', title: 'Form' })
    const updates = colloquy.subscribe()
    const dispatcher = colloquy.dispatcher.start()
    for await (const { event } of updates) if (isOfType(event, 'run.started')) break
    expect(colloquy.dispatcher.status()).toMatchObject([
      { state: 'running', running: [{ item: { beadId: 'form' }, agent: 'dev', hop: 1 }] },
    ])
    await dispatcher.stop()
    expect(colloquy.dispatcher.status()).toEqual([])
    expect(await colloquy.work.getBead('form')).toMatchObject({
      state: 'in_progress',
      attempts: { last: { outcome: 'aborted' } },
    })
    isStopped = true
    const again = await place.reopen()
    expect(await again.dispatcher.once()).toMatchObject({ started: 1, done: 1 })
    // The same request was answered: it was not said twice.
    const { items } = await again.sessions.listSessions({ agentName: 'dev' })
    const messages = await again.sessions.getAllMessages(items[0]!.id)
    expect(messages.filter(one => one.author === 'dispatcher')).toHaveLength(1)
  })

  it('a dispatcher takes what is added while it waits', async () => {
    const { colloquy } = await beads(() => complete('Done'), { dispatch: { lookEveryMs: 3_600_000 } })
    const updates = colloquy.subscribe({ name: 'work:updated' })
    const dispatcher = colloquy.dispatcher.start()
    await colloquy.work.addBead({ beadId: 'late', title: 'Late' })
    for await (const update of updates) if (update.action === 'moved' && update.to === 'done') break
    await dispatcher.stop()
    expect((await dispatcher.over).done).toBe(1)
  })
})
