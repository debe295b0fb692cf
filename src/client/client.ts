/** A connection to a server: each endpoint of the contract as a function, and live events. */

import type { AnswerOf, CallOf, Endpoint } from '../server/contract/endpoint.ts'
import { type Contract, contract } from '../server/contract/index.ts'
import { type CallInput, type CallOptions, type Connection, call } from './call.ts'
import { type LiveEvent, type LiveOptions, type LiveWords, liveEvents } from './live.ts'

export interface ClientOptions {
  /** Address of the server. Default: the origin of the page. */
  url?: string
  /** Default: the browser's cookie. */
  token?: string
  /** The project of calls that name none. */
  project?: string
  /** Maximum number of retries of a call. Default 3. */
  retries?: number
  fetch?: typeof fetch
}

type Call<E extends Endpoint> = (
  ...given: Record<never, never> extends CallOf<E>
    ? [input?: CallOf<E>, options?: CallOptions]
    : [input: CallOf<E>, options?: CallOptions]
) => Promise<AnswerOf<E>>

export type Client = {
  [R in keyof Contract]: {
    [N in keyof Contract[R]]: Contract[R][N] extends Endpoint ? Call<Contract[R][N]> : never
  }
} & {
  /** Every event once, in order, across lost connections; with `deltas` also the deltas of running agents. */
  live(options: LiveOptions & { deltas: true }): AsyncGenerator<LiveEvent | LiveWords>
  live(options?: LiveOptions & { deltas?: false }): AsyncGenerator<LiveEvent>
  /** The lines of an export, one by one. */
  exportLines(input: { project?: string; conversationId: string }): AsyncGenerator<string>
}

export function connect(options: ClientOptions = {}): Client {
  const { url = '', token, project, retries = 3 } = options
  const connection: Connection = {
    url: url.replace(/\/$/, ''),
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    project,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    retries,
  }
  const groups = Object.entries(contract).map(([resource, group]) => [
    resource,
    Object.fromEntries(
      Object.entries(group as Record<string, Endpoint>).map(([name, endpoint]) => [name, caller(connection, endpoint)]),
    ),
  ])
  return {
    ...Object.fromEntries(groups),
    live: (options?: LiveOptions) => liveEvents(connection, options),
    exportLines: (input: CallInput) => lines(connection, input),
  } as Client
}

function caller(connection: Connection, endpoint: Endpoint) {
  return async (input?: CallInput, options?: CallOptions) => {
    const answer = await call(connection, endpoint, input, options)
    return endpoint.streams === undefined ? answer.json() : answer.text()
  }
}

async function* lines(connection: Connection, input: CallInput): AsyncGenerator<string> {
  const { body } = await call(connection, contract.conversations.export, input)
  const reader = body!.getReader()
  const text = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      rest += done ? text.decode() : text.decode(value, { stream: true })
      const whole = rest.split('\n')
      rest = done ? '' : whole.pop()!
      for (const line of whole) if (line !== '') yield line
      if (done) return
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
