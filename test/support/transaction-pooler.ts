/**
 * A pooler as operators put it in front of PostgreSQL: each transaction of a client goes to any free connection of the
 * server. What one transaction leaves behind in its session, another client finds.
 */
import { connect as connectTo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export interface TransactionPooler {
  port: number
  /** Number of transactions that went through. */
  readonly transactions: number
}

interface Upstream {
  socket: Socket
  frames: Frames
}

const sslRequest = 80877103

/** `size` connections of the server for each user and database, however many clients there are. */
export async function transactionPooler(socketFolder: string, { size = 2 } = {}): Promise<TransactionPooler> {
  const pools = new Map<string, Pool>()
  const sockets = new Set<Socket>()
  let transactions = 0

  function serve(client: Socket): void {
    keep(client)
    const frames = new Frames(true)
    let pool: Pool | undefined
    let upstream: Upstream | undefined
    /** Questions that the server has not answered to the end. */
    let open = 0
    let chain: Promise<void> = Promise.resolve()
    client.on('data', data => {
      for (const frame of frames.take(data))
        chain = chain
          .then(() => forward(frame))
          .catch(() => {
            client.destroy()
          })
    })
    // In the middle of a transaction its connection is of no use to other clients.
    client.on('close', () => upstream?.socket.destroy())

    async function forward(frame: Buffer): Promise<void> {
      if (!pool) {
        if (frame.readInt32BE(4) === sslRequest) {
          client.write('N')
          return
        }
        frames.isStartup = false
        pool = poolOf(startupOf(frame))
        client.write(greeting)
        return
      }
      const type = String.fromCharCode(frame[0]!)
      if (type === 'X') {
        client.end()
        return
      }
      if (!upstream) {
        upstream = await pool.take()
        transactions++
        const mine = upstream
        for (const event of ['data', 'close']) upstream.socket.removeAllListeners(event)
        upstream.socket.on('data', data => {
          for (const answer of mine.frames.take(data)) {
            client.write(answer)
            if (answer[0] !== 0x5a) continue
            open--
            if (open > 0 || String.fromCharCode(answer[5]!) !== 'I') continue
            upstream = undefined
            pool!.give(mine)
          }
        })
        upstream.socket.on('close', () => client.destroy())
      }
      if (type === 'Q' || type === 'S') open++
      upstream.socket.write(frame)
    }
  }

  function poolOf(parameters: Map<string, string>): Pool {
    const [user, database] = [parameters.get('user')!, parameters.get('database')!]
    const key = `${user} ${database}`
    const pool = pools.get(key)
    if (pool) return pool
    const newPool = new Pool(size, async () => {
      const socket = connectTo(join(socketFolder, '.s.PGSQL.5432'))
      keep(socket)
      socket.write(startup({ user, database }))
      const frames = new Frames(false)
      await new Promise<void>((resolve, reject) => {
        socket.on('error', reject).on('close', reject)
        socket.on('data', data => {
          for (const frame of frames.take(data)) if (frame[0] === 0x5a) resolve()
        })
      })
      return { socket, frames }
    })
    pools.set(key, newPool)
    return newPool
  }

  function keep(socket: Socket): void {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  }

  const server = createServer(serve)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as { port: number }).port,
    get transactions() {
      return transactions
    },
  }
}

/** The one that was used longest ago comes first, so that no client meets its own traces. */
class Pool {
  readonly #idle: Upstream[] = []
  readonly #waiting: Array<(upstream: Upstream) => void> = []
  readonly #open: () => Promise<Upstream>
  #left: number

  constructor(size: number, open: () => Promise<Upstream>) {
    this.#left = size
    this.#open = open
  }

  async take(): Promise<Upstream> {
    if (this.#left > 0) {
      this.#left--
      return this.#open()
    }
    return this.#idle.shift() ?? new Promise(resolve => this.#waiting.push(resolve))
  }

  give(upstream: Upstream): void {
    const next = this.#waiting.shift()
    if (next) next(upstream)
    else this.#idle.push(upstream)
  }
}

/** Cuts what arrives into messages. The first of a client has no type. */
class Frames {
  isStartup: boolean
  #rest: Buffer = Buffer.alloc(0)

  constructor(isStartup: boolean) {
    this.isStartup = isStartup
  }

  *take(data: Buffer | string): Generator<Buffer> {
    this.#rest = Buffer.concat([this.#rest, data as Buffer])
    for (;;) {
      const before = this.isStartup ? 0 : 1
      if (this.#rest.length < before + 4) return
      const length = before + this.#rest.readInt32BE(before)
      if (this.#rest.length < length) return
      const frame = this.#rest.subarray(0, length)
      this.#rest = this.#rest.subarray(length)
      yield frame
    }
  }
}

function message(type: string, ...parts: ReadonlyArray<Buffer | string>): Buffer {
  const body = Buffer.concat(parts.map(part => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part)))
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

const greeting = Buffer.concat([
  message('R', Buffer.alloc(4)),
  message('S', 'client_encoding', 'UTF8'),
  message('S', 'server_version', '18.0'),
  message('K', Buffer.alloc(8)),
  message('Z', Buffer.from('I')),
])

function startup(parameters: Record<string, string>): Buffer {
  const version = Buffer.alloc(4)
  version.writeInt32BE(196608)
  const texts = Object.entries(parameters).flat()
  return message('', version, ...texts, Buffer.alloc(1))
}

/** Reads the startup parameters of a client; session settings are ignored, as poolers do. */
function startupOf(frame: Buffer): Map<string, string> {
  const texts = frame.subarray(8).toString('utf8').split('\0')
  const parameters = new Map<string, string>()
  for (let i = 0; i + 1 < texts.length; i += 2) parameters.set(texts[i]!, texts[i + 1]!)
  return parameters
}
