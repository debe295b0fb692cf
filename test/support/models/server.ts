/** A real HTTP server on loopback that plays a provider: each test says how it answers. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface RecordedRequest {
  path: string
  headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: a provider's JSON, looked into by tests
  body: any
}

export type Reply = (response: ServerResponse, asked: RecordedRequest) => unknown

export interface ProviderServer {
  url: string
  /** Every request so far. */
  asked: RecordedRequest[]
  /** Resolves when the client has closed the connection of a reply. */
  hungUp: Promise<void>
}

/** Answers in the order of `replies`; the last one ever after. */
export async function providerServer(...replies: Reply[]): Promise<ProviderServer> {
  const asked: RecordedRequest[] = []
  let leave = () => {}
  const hungUp = new Promise<void>(resolve => {
    leave = resolve
  })
  const server = createServer(async (request, response) => {
    response.on('close', () => {
      if (!response.writableFinished) leave()
    })
    let text = ''
    for await (const piece of request) text += piece
    const recorded = { path: request.url ?? '', headers: request.headers, body: JSON.parse(text) }
    asked.push(recorded)
    await replies[Math.min(asked.length, replies.length) - 1]!(response, recorded)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1`, asked, hungUp }
}

export type Headers = Record<string, string>

/** A whole event stream. */
export function sends(...pieces: string[]): Reply {
  return response => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    for (const piece of pieces) response.write(piece)
    response.end()
  }
}

/** Begins an event stream and then says nothing more. */
export function sendsAndStalls(...pieces: string[]): Reply {
  return response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces) response.write(piece)
  }
}

/** Begins an event stream and then breaks the connection. */
export function sendsAndCuts(...pieces: string[]): Reply {
  return response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(pieces.join(''), () => response.destroy())
  }
}

export function refuses(status: number, body: unknown, headers: Headers = {}): Reply {
  return response => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}
