/**
 * Durable appends over HTTP, compared with a route that validates the same body and stores nothing, and with the
 * library.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { createAdaptorServer } from '@hono/node-server'
import { createServer, listen, newToken } from 'colloquy/server'
import { Hono } from 'hono'
import { MessageInput } from '../src/log/commands/message-input.ts'
import type { PostOrders } from './http-process.ts'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { median, Rounds, secondsOf } from './support/measure.ts'
import { newSession, openAt } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { manyMessages } from './support/text.ts'
import { perSecond } from './support/units.ts'

export const server: Benchmark = {
  name: 'server',
  title: 'Appends over HTTP',
  about:
    'Another process posts messages over 64 connections, each waiting for its answer, which comes when the message is durable. The baseline is a bare Hono route on the same adapter that parses the same body, checks it with the same schema and stores nothing. A second row has the same appends without HTTP.',
  run: (sizes, tell) => inTemporaryFolder(folder => run(folder, sizes, tell)),
}

async function run(folder: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const { rounds, connections, messagesEach } = sizes.server
  const colloquy = await openAt(join(folder, 'server.db'), { tokens: 'exact' })
  const token = newToken()
  const httpServer = createServer({
    colloquy,
    owner: { token, name: 'bench' },
    configuration: { sweepEveryMs: null, limits: { requestsPerSecond: null } },
  })
  const running = await listen(httpServer, { port: 0, token })
  const bare = await bareServer()
  const sessions: string[] = []
  for (let at = 0; at < connections; at++) sessions.push(await newSession(colloquy, `connection ${at}`))
  const project = encodeURIComponent(colloquy.project)
  const paths = sessions.map(id => `/api/v1/projects/${project}/sessions/${id}/messages`)
  const overHttp = new Rounds()
  const inProcess = new Rounds()
  let seed = 0

  const post = async (port: number, to: string[]) =>
    (connections * messagesEach) / (await seconds({ port, paths: to, token, messagesEach, seed: ++seed }))
  const append = async () => {
    const texts = manyMessages(connections * messagesEach, ++seed)
    const took = await secondsOf(() =>
      Promise.all(
        sessions.map(async (session, lane) => {
          for (let at = 0; at < messagesEach; at++) {
            const content = texts[lane * messagesEach + at]!
            await colloquy.sessions.addMessage(session, { role: 'user', content })
          }
        }),
      ),
    )
    return texts.length / took
  }

  try {
    for (let round = -1; round < rounds; round++) {
      tell(round < 0 ? 'warming up' : `round ${round + 1} of ${rounds}`)
      const baseline = await post(bare.port, Array(connections).fill('/messages'))
      const ours = await post(running.port, paths)
      const library = await append()
      if (round < 0) continue
      overHttp.add({ ours, baseline })
      inProcess.add({ ours: library, baseline })
    }
  } finally {
    bare.close()
    await running.stop()
    await colloquy.close()
  }
  return [
    finding('appended over HTTP, acknowledged', overHttp, { atLeast: 0.5 }),
    finding('appended in the process, acknowledged', inProcess),
  ]
}

function finding(what: string, rounds: Rounds, target?: { atLeast: number }): Finding {
  return {
    what,
    ours: perSecond(median(rounds.ours)),
    baseline: perSecond(median(rounds.baseline)),
    ratio: rounds.ratio,
    spread: rounds.spread,
    ...(target && { target }),
  }
}

async function bareServer(): Promise<{ port: number; close(): void }> {
  const app = new Hono()
  app.post('/messages', async context => {
    const message = MessageInput.parse(await context.req.json())
    return context.json({ id: '', ...message }, 201)
  })
  const http = createAdaptorServer({ fetch: app.fetch })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', () => resolve()))
  const address = http.address()
  return { port: typeof address === 'object' ? address!.port : 0, close: () => http.close() }
}

/** Measures the other process. */
function seconds(orders: PostOrders): Promise<number> {
  const child = fork(new URL('./http-process.ts', import.meta.url), { execArgv: ['--import', 'tsx'] })
  return new Promise((resolve, reject) => {
    child.on('message', (message: 'ready' | number) => {
      if (message === 'ready') child.send(orders)
      else {
        resolve(message)
        child.kill()
      }
    })
    child.on('exit', code => reject(new Error(`the client ended with ${code}`)))
  })
}
