/** Live events over HTTP: exact, resumable, bounded. */
import { createConnection } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { LiveEvent } from 'colloquy/client'
import { connect } from 'colloquy/client'
import { createServer, listen } from 'colloquy/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freshServer } from '../../support/server.ts'

async function take(events: AsyncGenerator<LiveEvent>, count: number): Promise<LiveEvent[]> {
  const taken: LiveEvent[] = []
  for await (const event of events) {
    taken.push(event)
    if (taken.length >= count) break
  }
  return taken
}

const numbersOf = (events: LiveEvent[]) => events.map(({ version }) => version)

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes that are still needed, buffers included. */
function memoryInUse(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

describe('live events', () => {
  it('[P2] live events come once and in order, from the start or from the last one seen', async () => {
    const { client } = await freshServer()
    const { id: conversationId } = await client.conversations.create({ body: { title: 'x' } })
    const say = (content: string) => client.conversations.say({ conversationId, body: { role: 'user', content } })
    for (const content of ['a', 'b', 'c']) await say(content)
    const first = await take(client.live({ from: 'start' }), 3)
    expect(numbersOf(first)).toEqual([1, 2, 3])
    expect(first[1]).toMatchObject({
      name: 'conversation:updated',
      action: 'message_added',
      actor: 'owner',
      channel: 'http',
    })
    const rest = take(client.live({ from: first.at(-1)!.position }), 3)
    await say('d')
    await say('e')
    expect(numbersOf(await rest)).toEqual([4, 5, 6])
  })

  it('live events are filtered by conversation, session and type, and never cross projects', async () => {
    const { client, book, running } = await freshServer()
    const thread = (threadId: string) => ({ type: 'thread', agentType: 'dev', threadId }) as const
    const one = await client.sessions.getOrCreate({ body: thread('one') })
    const two = await client.sessions.getOrCreate({ body: thread('two') })
    for (const { id: sessionId } of [one, two, one]) {
      await client.sessions.addMessage({ sessionId, body: { role: 'user', content: 'x' } })
    }
    await client.conversations.create({ project: 'elsewhere', body: { title: 'not for shop' } })
    const byConversation = await take(client.live({ from: 'start', conversation: one.conversationId }), 4)
    expect(new Set(byConversation.map(event => event.conversationId))).toEqual(new Set([one.conversationId]))
    const bySession = await take(client.live({ from: 'start', session: two.id, types: ['message.added'] }), 1)
    expect(bySession).toMatchObject([{ sessionId: two.id, type: 'message.added' }])
    const byName = await take(client.live({ from: 'start', types: ['conversation:updated'] }), 2)
    expect(byName.map(({ action }) => action)).toEqual(['created', 'created'])
    const { token } = book.add({ name: 'r', scope: 'read', projects: ['elsewhere'] })
    const stranger = connect({ url: running.url, token, project: 'elsewhere' })
    expect(await take(stranger.live({ from: 'start' }), 1)).toMatchObject([{ project: 'elsewhere' }])
    await expect(take(stranger.live({ project: 'shop' }), 1)).rejects.toMatchObject({ status: 403 })
    await expect(take(client.live({ from: 'nonsense' }), 1)).rejects.toMatchObject({ code: 'log/position-unknown' })
  })

  it('[P2] live events go on across a restart of the server without a gap or a repetition', async () => {
    const { colloquy, token, running } = await freshServer()
    const { id } = await colloquy.conversations.createConversation({ title: 'x' })
    const client = connect({ url: running.url, token, project: 'shop' })
    const events = client.live({ from: 'start' })
    const seen = [(await events.next()).value!.version]
    await running.stop()
    for (let number = 0; number < 5; number++) await colloquy.conversations.addEvent(id, { role: 'user', content: 'x' })
    const again = createServer({ colloquy, owner: { token, name: 'owner' }, configuration: { sweepEveryMs: null } })
    const second = await listen(again, { port: running.port, token })
    try {
      while (seen.length < 6) seen.push((await events.next()).value!.version)
    } finally {
      await events.return(undefined)
      await second.stop()
    }
    expect(seen).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('a large live event comes without its content', async () => {
    const { client } = await freshServer()
    const content = 'word '.repeat(100_000)
    const { id } = await client.conversations.create({ body: { title: 'x', initial: { role: 'user', content } } })
    const [, large] = await take(client.live({ from: 'start' }), 2)
    expect(large).toMatchObject({ conversationId: id, version: 2, type: 'message.added', isLarge: true })
    expect(large?.event).toBeUndefined()
  })

  it('live streams send heartbeats, and drop a client that does not read', async () => {
    const { running, token, colloquy, client } = await freshServer({ configuration: { heartbeatMs: 30, stallMs: 300 } })
    const { id } = await colloquy.conversations.createConversation({ title: 'x' })
    const socket = createConnection(running.port, '127.0.0.1')
    socket.write(
      `GET /api/v1/events?from=start HTTP/1.1\r\nhost: 127.0.0.1:${running.port}\r\nauthorization: Bearer ${token}\r\n\r\n`,
    )
    let text = ''
    await new Promise<void>(resolve => {
      socket.on('data', piece => {
        text += piece
        if (text.includes(': alive')) resolve()
      })
    })
    expect(text).toContain('retry: 1000')
    socket.pause()
    const ended = new Promise<void>(resolve => socket.on('close', () => resolve()).on('error', () => resolve()))
    const content = 'word '.repeat(40_000)
    const subscribers = async () =>
      Number(/colloquy_subscribers (\d+)/.exec(String(await client.operations.metrics()))?.[1])
    // More than the sockets of both sides hold, until the server has had enough.
    while ((await subscribers()) > 0) await colloquy.conversations.addEvent(id, { role: 'user', content })
    socket.resume()
    await ended
    expect(await client.operations.metrics()).toContain('colloquy_subscribers_dropped_total 1')
  })

  it('live streams cost less than a megabyte for each client that never reads, however much is sent', async () => {
    const deaf = 20
    const { running, token, colloquy, client } = await freshServer({ configuration: { stallMs: 600_000 } })
    const { id } = await colloquy.conversations.createConversation({ title: 'x' })
    const content = 'word '.repeat(2000)
    const speak = async (times: number) => {
      for (let number = 0; number < times; number++)
        await colloquy.conversations.addEvent(id, { role: 'user', content })
    }
    // A first subscription allocates what the store shares between all listeners.
    const listening = colloquy.subscribe()
    onTestFinished(async () => {
      await listening.return?.()
    })
    await speak(1_100)
    const before = memoryInUse()
    const sockets = Array.from({ length: deaf }, () => {
      const socket = createConnection(running.port, '127.0.0.1').pause()
      socket.write(
        `GET /api/v1/events?from=start&deltas=true HTTP/1.1\r\nhost: 127.0.0.1:${running.port}\r\nauthorization: Bearer ${token}\r\n\r\n`,
      )
      return socket
    })
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
    })
    const subscribers = async () =>
      Number(/colloquy_subscribers (\d+)/.exec(String(await client.operations.metrics()))?.[1])
    await expect.poll(subscribers, { timeout: 30_000 }).toBe(deaf)
    await speak(800)
    expect(await subscribers()).toBe(deaf)
    // Sent data is released a moment after it was collected.
    await expect.poll(() => (memoryInUse() - before) / deaf, { timeout: 20_000 }).toBeLessThan(1_000_000)
  })

  it('live streams are limited in number', async () => {
    const { client, send } = await freshServer({ configuration: { limits: { streams: 1 } } })
    const { id: conversationId } = await client.conversations.create({ body: { title: 'x' } })
    const events = client.live({ from: 'start' })
    await events.next()
    expect(await send('/api/v1/events')).toMatchObject({ status: 429 })
    await events.return(undefined)
    await client.conversations.say({ conversationId, body: { role: 'user', content: 'x' } })
    expect(await take(client.live({ from: 'start' }), 2)).toHaveLength(2)
  })

  it('live events reach many listeners, each its own, once and in order', async () => {
    const { client, colloquy } = await freshServer()
    const conversations = await Promise.all(
      Array.from({ length: 4 }, (_, at) => colloquy.conversations.createConversation({ title: `c${at}` })),
    )
    const listeners = Array.from({ length: 40 }, (_, at) => {
      const { id } = conversations[at % 4]!
      return take(client.live({ from: 'start', conversation: id }), 26)
    })
    for (let number = 0; number < 25; number++) {
      await Promise.all(
        conversations.map(({ id }) => colloquy.conversations.addEvent(id, { role: 'user', content: 'x' })),
      )
    }
    for (const events of await Promise.all(listeners)) {
      expect(numbersOf(events)).toEqual(Array.from({ length: 26 }, (_, at) => at + 1))
    }
  })
})
