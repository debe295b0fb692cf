/** Starts a server that listens, prints where, and stops it without losing what it acknowledged. */
import type { Server } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { z } from 'zod'
import { ServeSettings } from '../app/configuration/server-settings.ts'
import { ServerRefused } from '../errors.ts'
import { parseInput } from '../log/commands/input.ts'
import { longEnough } from './access/tokens.ts'
import type { ColloquyServer } from './app.ts'

const { host, port, allowOutside } = ServeSettings.shape
const Listen = z.strictObject({ host, port, allowOutside, token: z.string() })
export type Listen = z.input<typeof Listen>

export interface RunningServer {
  host: string
  port: number
  /** `http://127.0.0.1:7333`, with the path that everything is below */
  url: string
  /** The address to open: with a ticket that is good once. */
  entry(): string
  /** Refuses what is new, ends streams with a hint to come back, waits for what is under way. */
  stop(): Promise<void>
}

const waitMs = 10_000
/** Also the most that all headers of a request may have; Node answers 431 beyond it. */
const headerBytes = 16 * 1024
/** After a restart all listeners come back at once; the system may allow fewer. */
const backlog = 4096

/** @throws {ServerRefused} when it would listen where others can reach it without being told, or with a short token */
export async function listen(server: ColloquyServer, options: Listen): Promise<RunningServer> {
  const { host, port, allowOutside, token } = parseInput(Listen, options)
  refuseOutside(host, allowOutside, token)
  const http = createAdaptorServer({
    fetch: server.app.fetch,
    overrideGlobalObjects: false,
    serverOptions: {
      maxHeaderSize: headerBytes,
      requestTimeout: 60_000,
      headersTimeout: 20_000,
      keepAliveTimeout: 65_000,
    },
  }) as Server
  const connections = tracked(http)
  await new Promise<void>((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) => reject(unusable(error, host, port)))
    http.listen({ port, host, backlog }, () => resolve())
  })
  const address = http.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  const shown = host.includes(':') ? `[${host}]` : host
  const names = isLoopback(host) ? ['127.0.0.1', 'localhost', '[::1]', shown] : [shown]
  for (const name of names) {
    server.settings.hosts.add(`${name}:${bound}`.toLowerCase())
    server.settings.origins.add(`http://${name}:${bound}`.toLowerCase())
  }
  const url = `http://${shown}:${bound}${server.settings.basePath}`
  let stopping: Promise<void> | undefined
  return {
    host,
    port: bound,
    url,
    entry: () => `${url}/?ticket=${server.ticket()}`,
    stop: () => (stopping ??= stop(http, connections, server)),
  }
}

/** Counts the requests of each connection. Node's own count leaves out connections that never sent one. */
function tracked(http: Server): Map<Socket, number> {
  const connections = new Map<Socket, number>()
  http.on('connection', (socket: Socket) => {
    connections.set(socket, 0)
    socket.on('close', () => connections.delete(socket))
  })
  http.on('request', ({ socket }, response) => {
    connections.set(socket, (connections.get(socket) ?? 0) + 1)
    response.on('close', () => {
      if (connections.has(socket)) connections.set(socket, connections.get(socket)! - 1)
    })
  })
  return connections
}

async function stop(http: Server, connections: Map<Socket, number>, server: ColloquyServer): Promise<void> {
  const closed = new Promise<void>(resolve => http.close(() => resolve()))
  server.drain()
  const closeQuiet = () => {
    for (const [socket, requests] of connections) if (requests === 0) socket.destroySoon()
  }
  closeQuiet()
  // A connection that becomes quiet after its last answer would otherwise be kept for the next request.
  const again = setInterval(closeQuiet, 20)
  const enough = setTimeout(() => http.closeAllConnections(), waitMs)
  await closed
  clearInterval(again)
  clearTimeout(enough)
  await server.close()
}

function refuseOutside(host: string, allowOutside: boolean, token: string): void {
  if (isLoopback(host)) return
  if (!allowOutside) {
    throw new ServerRefused(
      `${host} can be reached by others. Say --allow-outside if that is meant, and put TLS in front of it.`,
      { host },
    )
  }
  if (token.length < longEnough) {
    throw new ServerRefused(`To listen on ${host} the token must have at least ${longEnough} characters.`, { host })
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function unusable(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code !== 'EADDRINUSE') return error
  return new ServerRefused(`Port ${port} of ${host} is in use. Choose another with --port, or 0 for any.`, {
    host,
    port,
  })
}
