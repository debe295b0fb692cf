/** A server for one test: real HTTP on a free port, over a store of the test's. */
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import type { OpenOptions } from 'colloquy'
import { type Client, connect } from 'colloquy/client'
import {
  createServer,
  listen,
  newToken,
  type RunningServer,
  type ServerOptions,
  type TokenBook,
  tokenBook,
} from 'colloquy/server'
import { onTestFinished } from 'vitest'
import { type FreshColloquy, freshColloquy } from './colloquy.ts'

export interface HttpAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  json(): Record<string, unknown>
}

export interface HttpCall {
  method?: string
  headers?: Record<string, string | undefined>
  body?: string
}

export interface FreshServer extends FreshColloquy {
  running: RunningServer
  token: string
  book: TokenBook
  client: Client
  /** As the owner unless the headers say otherwise; undefined leaves a header out. */
  send(path: string, sent?: HttpCall): Promise<HttpAnswer>
}

export async function freshServer(
  options: { open?: OpenOptions; configuration?: ServerOptions } = {},
): Promise<FreshServer> {
  const store = await freshColloquy(options.open)
  const token = newToken()
  const book = tokenBook(join(store.folder, 'token'))
  const server = createServer({
    colloquy: store.colloquy,
    owner: { token, name: 'owner' },
    book,
    configuration: { sweepEveryMs: null, ...options.configuration },
  })
  const running = await listen(server, { port: 0, token })
  onTestFinished(() => running.stop())
  return Object.assign(store, {
    running,
    token,
    book,
    client: connect({ url: running.url, token, project: 'shop' }),
    send: (path: string, { headers = {}, ...sent }: HttpCall = {}) =>
      send(running, path, { ...sent, headers: { authorization: `Bearer ${token}`, ...headers } }),
  })
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 })

/** Plain HTTP: nothing is added that is not said, and Host may say anything. */
export function send(
  { host, port }: { host: string; port: number },
  path: string,
  sent: HttpCall = {},
): Promise<HttpAnswer> {
  const { method = 'GET', body, headers = {} } = sent
  const definedHeaders = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host, port, path, method, headers: definedHeaders as Record<string, string>, agent },
      response => {
        let text = ''
        response.setEncoding('utf8').on('data', piece => {
          text += piece
        })
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: response.headers, text, json: () => JSON.parse(text) }),
        )
        response.on('error', reject)
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}
