/** A client process of `server.ts`: posts messages over so many connections, each waiting for its answer. */
import { Agent, request } from 'node:http'
import { manyMessages } from './support/text.ts'

export interface PostOrders {
  port: number
  /** One path per connection. */
  paths: string[]
  token: string
  messagesEach: number
  seed: number
}

process.on('message', async (orders: PostOrders) => {
  const { port, paths, token, messagesEach, seed } = orders
  const agent = new Agent({ keepAlive: true, maxSockets: paths.length })
  const bodies = manyMessages(paths.length * messagesEach, seed).map(content =>
    JSON.stringify({ role: 'user', content }),
  )
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }

  function post(path: string, body: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const length = Buffer.byteLength(body)
      const sent = request(
        { host: '127.0.0.1', port, path, method: 'POST', agent, headers: { ...headers, 'content-length': length } },
        response => {
          response.resume()
          response.on('end', () =>
            response.statusCode === 201 ? resolve() : reject(new Error(`answered ${response.statusCode}`)),
          )
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  }

  const started = performance.now()
  await Promise.all(
    paths.map(async (path, lane) => {
      for (let at = 0; at < messagesEach; at++) await post(path, bodies[lane * messagesEach + at]!)
    }),
  )
  process.send?.((performance.now() - started) / 1000)
  agent.destroy()
})
process.send?.('ready')
