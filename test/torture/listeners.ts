/**
 * Many listeners over HTTP while conversations go on: each gets every event of its conversation once and in order. And
 * some that never read: they are cut off, and cost no memory worth mentioning.
 */
import { once } from 'node:events'
import { connect as connectTo, type Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Colloquy } from 'colloquy'
import { createServer, listen, newToken } from 'colloquy/server'

export interface ListenersReport {
  appended: number
  /** Duration of the appends. */
  tookSeconds: number
  received: number
  dropped: number
  /** Delay of the event loop, in milliseconds. */
  delay: { p50: number; p99: number; max: number }
  /** Growth of the process from before the deaf came to the end. */
  grownMb: number
  problems: string[]
}

interface Ear {
  socket: Socket
  /** Resolves with the first bytes of the answer. */
  answered: Promise<unknown>
  conversation: number
  versions: number[]
}

export async function listeners(options: {
  colloquy: Colloquy
  conversations: number
  clients: number
  /** Clients that never read. */
  deaf: number
  appendsPerSecond: number
  seconds: number
  onSecond?: (appended: number) => void
}): Promise<ListenersReport> {
  const { colloquy, conversations, clients, deaf, appendsPerSecond, seconds, onSecond } = options
  const token = newToken()
  const configuration = { sweepEveryMs: null, stallMs: 5000, limits: { streams: clients + deaf + 10 } }
  const server = createServer({ colloquy, owner: { token, name: 'torture' }, configuration })
  const running = await listen(server, { port: 0, token })
  const ids: string[] = []
  for (let at = 0; at < conversations; at++) {
    ids.push((await colloquy.conversations.createConversation({ title: `Conversation ${at}` })).id)
  }
  const listenTo = (path: string) => {
    const socket = connectTo(running.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${running.port}\r\nauthorization: Bearer ${token}\r\n\r\n`)
    return socket
  }
  const ears: Ear[] = []
  for (let at = 0; at < clients; at++) {
    const conversation = at % conversations
    const socket = listenTo(`/api/v1/events?from=start&conversation=${encodeURIComponent(ids[conversation]!)}`)
    const ear: Ear = { socket, answered: once(socket, 'data'), conversation, versions: [] }
    let partialLine = ''
    socket.setEncoding('utf8').on('data', piece => {
      partialLine += piece
      const end = partialLine.lastIndexOf('\n')
      for (const [, version] of partialLine.slice(0, end).matchAll(/^data: .*?"version":(\d+)/gm)) {
        ear.versions.push(Number(version))
      }
      partialLine = partialLine.slice(end + 1)
    })
    ears.push(ear)
  }
  await Promise.all(ears.map(ear => ear.answered))
  const before = process.memoryUsage().rss
  const silent = Array.from({ length: deaf }, () => listenTo('/api/v1/events?from=start').pause())
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  let appended = 0
  const started = performance.now()
  for (let second = 0; second < seconds; second++) {
    for (let tenth = 0; tenth < 10; tenth++) {
      const due = started + second * 1000 + tenth * 100
      await new Promise(resolve => setTimeout(resolve, Math.max(0, due - performance.now())))
      const now = Array.from({ length: Math.round(appendsPerSecond / 10) }, () => ids[appended++ % conversations]!)
      await Promise.all(now.map(id => colloquy.conversations.addEvent(id, { role: 'user', content: 'x'.repeat(500) })))
    }
    onSecond?.(appended)
  }
  const tookSeconds = (performance.now() - started) / 1000
  const lastVersions = await Promise.all(
    ids.map(async id => (await colloquy.conversations.getConversation(id)).version),
  )
  const end = performance.now() + 60_000
  const isDone = () => ears.every(({ versions, conversation }) => versions.length >= lastVersions[conversation]!)
  while (!isDone() && performance.now() < end) await new Promise(resolve => setTimeout(resolve, 50))
  const grownMb = (process.memoryUsage().rss - before) / 1e6
  delay.disable()
  const problems = ears.flatMap(({ versions, conversation }, at) =>
    versions.length === lastVersions[conversation] && versions.every((version, index) => version === index + 1)
      ? []
      : [`client ${at} got ${versions.length} of ${lastVersions[conversation]} events, or not in order`],
  )
  const metrics = await (
    await fetch(`${running.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  ).text()
  for (const socket of [...silent, ...ears.map(ear => ear.socket)]) socket.destroy()
  await running.stop()
  const ms = (nanoseconds: number) => nanoseconds / 1e6
  return {
    appended,
    tookSeconds,
    received: ears.reduce((sum, { versions }) => sum + versions.length, 0),
    dropped: Number(/colloquy_subscribers_dropped_total (\d+)/.exec(metrics)?.[1]),
    delay: { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) },
    grownMb,
    problems,
  }
}
