/** Updates to subscribers, and their timing. */
import { execFile } from 'node:child_process'
import { openColloquy, type Update } from 'colloquy'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

const feature = { type: 'feature', agentType: 'pm', featureId: 'login' } as const

async function take(updates: AsyncIterableIterator<Update>, count: number): Promise<Update[]> {
  const taken: Update[] = []
  for await (const update of updates) {
    taken.push(update)
    if (taken.length === count) break
  }
  return taken
}

describe('session:updated', () => {
  it('session:updated reports a session that is created, used, cleared, archived', async () => {
    const { colloquy } = await freshColloquy()
    const updates = colloquy.subscribe({ name: 'session:updated' })
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const message = await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'hello' })
    await colloquy.sessions.clearMessages(session.id)
    await colloquy.sessions.archiveSession(session.id)
    const seen = await take(updates, 4)
    expect(seen.map(update => update.action)).toEqual(['created', 'message_added', 'cleared', 'archived'])
    expect(seen[0]).toMatchObject({ sessionId: session.id, agentName: 'pm', agentType: 'pm' })
    expect(seen[1]).toMatchObject({ sessionId: session.id, message: { id: message.id, content: 'hello' } })
  })

  it('session:updated is typed by its name: the fields of an action can be read without a check of the name', async () => {
    const { colloquy } = await freshColloquy()
    const updates = colloquy.subscribe({ name: 'session:updated' })
    const session = await colloquy.sessions.getOrCreateSession(feature)
    await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'hello' })
    const said: string[] = []
    for await (const update of updates) {
      if (update.action === 'created') said.push(update.agentName)
      if (update.action !== 'message_added') continue
      said.push(update.message.content)
      break
    }
    expect(said).toEqual(['pm', 'hello'])
  })

  it('session:updated reports expiry', async () => {
    const { colloquy, pass } = await freshColloquy()
    const session = await colloquy.sessions.getOrCreateSession(feature)
    const updates = colloquy.subscribe({ sessionId: session.id })
    pass(25 * 60 * 60 * 1000)
    await colloquy.maintain()
    expect(await take(updates, 1)).toMatchObject([{ action: 'expired' }])
  })
})

describe('[P2] order', () => {
  it('[P2] a subscription goes on exactly where it stopped, also after a restart', async () => {
    const kept = await freshColloquy()
    const { id } = await kept.colloquy.conversations.createConversation({ title: 'long' })
    for (let i = 0; i < 5; i++) await kept.colloquy.conversations.addEvent(id, { role: 'user', content: `m${i}` })
    const [, , third] = await take(kept.colloquy.subscribe({ from: 'start' }), 3)
    const again = await kept.reopen()
    const rest = await take(again.subscribe({ from: third!.position }), 3)
    expect(rest.map(update => update.version)).toEqual([4, 5, 6])
  })

  it('a subscription receives what another handle, as in another process, writes', async () => {
    const { colloquy, store } = await freshColloquy()
    const other = await openColloquy({ store, project: 'shop', tokens: 'fast', sweepEveryMs: null })
    const updates = colloquy.subscribe()
    const { id } = await other.conversations.createConversation({ title: 'from the other' })
    expect(await take(updates, 1)).toMatchObject([{ conversationId: id, action: 'created' }])
    await other.close()
  })

  it('a subscription ends when its signal is aborted, and when the store closes', async () => {
    const { colloquy } = await freshColloquy()
    const controller = new AbortController()
    const aborted = colloquy.subscribe({ signal: controller.signal }).next()
    controller.abort()
    expect(await aborted).toEqual({ done: true, value: undefined })
    const closed = colloquy.subscribe().next()
    await colloquy.close()
    expect(await closed).toEqual({ done: true, value: undefined })
  })
})

it('a listener that fails keeps neither the caller nor other listeners from hearing that a write is done', async () => {
  const { colloquy } = await freshColloquy()
  const { id } = await colloquy.sessions.getOrCreateSession(feature)
  const heard: number[] = []
  const stop = [
    colloquy.onRecorded(() => {
      throw new Error('out of paper')
    }),
    colloquy.onRecorded(async () => {
      throw new Error('out of ink')
    }),
    colloquy.onRecorded(events => heard.push(...events.map(event => event.version))),
  ]
  const warnings: Error[] = []
  const warned = new Promise<void>(resolve => {
    process.on('warning', note)
    onTestFinished(() => void process.off('warning', note))
    function note(warning: Error) {
      if (warnings.push(warning) === 2) resolve()
    }
  })
  const { version } = await colloquy.sessions.addMessage(id, { role: 'user', content: 'print this' })
  expect(heard).toEqual([version])
  await warned
  expect(warnings).toMatchObject([
    { code: 'COLLOQUY_LISTENER', message: expect.stringContaining('out of paper') },
    { code: 'COLLOQUY_LISTENER', message: expect.stringContaining('out of ink') },
  ])
  for (const one of stop) one()
})

describe('a program that only follows', () => {
  const root = new URL('../../..', import.meta.url)

  /** Runs a program that says 'ready' when it follows, and then hears of one message; gives its exit code and words. */
  async function follows(program: string): Promise<{ code: number | null; words: string }> {
    const { colloquy, store } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'Login page' })
    const opening = `import { openColloquy } from 'colloquy'
      const colloquy = await openColloquy({ store: ${JSON.stringify(store)}, project: 'shop' })`
    const child = execFile(process.execPath, ['--input-type=module', '-e', `${opening}\n${program}`], { cwd: root })
    let words = ''
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', text => (words += text))
    child.stdout!.once('data', () => colloquy.conversations.addEvent(id, { role: 'user', content: 'hello' }))
    const code = await new Promise<number | null>(resolve => child.on('close', resolve))
    return { code, words }
  }

  it('a program that only follows runs until it has what it waits for', async () => {
    const ended = await follows(`
      const updates = colloquy.subscribe()
      console.log('ready')
      for await (const update of updates) {
        console.log(update.message.content)
        break
      }`)
    expect(ended).toEqual({ code: 0, words: 'ready\nhello\n' })
  })

  it.each([
    ['aborts', 'stop.abort()'],
    ['closes', 'colloquy.close()'],
    ['returns', 'updates.return()'],
  ])('a program that only follows ends when it %s', async (_, end) => {
    const ended = await follows(`
      const stop = new AbortController()
      const updates = colloquy.subscribe({ signal: stop.signal })
      console.log('ready')
      await updates.next()
      const next = updates.next()
      setImmediate(() => ${end})
      console.log((await next).done)`)
    expect(ended).toEqual({ code: 0, words: 'ready\ntrue\n' })
  })
})
