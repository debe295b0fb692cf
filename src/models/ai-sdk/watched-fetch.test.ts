import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { FellSilent, watchedFetch } from './watched-fetch.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** A stream whose every piece the test sends, while it moves the clock. */
async function streaming() {
  let opened: (response: ServerResponse) => void
  const response = new Promise<ServerResponse>(resolve => {
    opened = resolve
  })
  const server = createServer((_, reply) => {
    reply.writeHead(200, { 'content-type': 'text/event-stream' })
    reply.flushHeaders()
    opened(reply)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const fetching = watchedFetch(1000)(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const reply = await response
  const reader = (await fetching).body!.getReader()
  return { reply, reader }
}

it('a watched fetch waits as long as signs of life come, however long that takes', async () => {
  const { reply, reader } = await streaming()
  for (let sign = 0; sign < 5; sign++) {
    const reading = reader.read()
    vi.advanceTimersByTime(900)
    reply.write(': still thinking\n\n')
    expect((await reading).done).toBe(false)
  }
  reply.end()
  expect((await reader.read()).done).toBe(true)
})

it('a watched fetch gives up when nothing comes for too long', async () => {
  const { reader } = await streaming()
  const reading = reader.read()
  const failing = expect(reading).rejects.toThrow(FellSilent)
  vi.advanceTimersByTime(1000)
  await failing
})

it('a watched fetch does not count the time that its reader takes', async () => {
  const { reply, reader } = await streaming()
  reply.write(': one\n\n')
  await reader.read()
  await new Promise(resolve => setImmediate(resolve))
  vi.advanceTimersByTime(100_000)
  reply.write(': two\n\n')
  expect((await reader.read()).done).toBe(false)
})
