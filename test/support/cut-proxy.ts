/** Stands between a client and a server's socket, to cut connections where it hurts. */
import { connect as connectTo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

export interface CutProxy {
  port: number
  /**
   * Cuts the connection that next asks for something with these words in it: before the server hears of it, or after
   * the server has answered and before the client hears of that.
   */
  cutNext(words: string, when: 'before' | 'after'): void
  /** Asks for each piece that a client sends whether its connection is cut, and when. */
  cutBy(choose: () => 'before' | 'after' | undefined): void
  /** Number of connections cut. */
  readonly cuts: number
  close(): void
}

export async function openCutProxy(socketFolder: string): Promise<CutProxy> {
  let next: { words: string; when: 'before' | 'after' } | undefined
  let choose: () => 'before' | 'after' | undefined = () => undefined
  let cuts = 0
  const open = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connectTo(join(socketFolder, '.s.PGSQL.5432'))
    let isDoomed = false
    const cut = () => {
      cuts++
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', data => {
      const when = next && data.includes(next.words) ? next.when : choose()
      if (when) {
        next = undefined
        if (when === 'before') {
          cut()
          return
        }
        isDoomed = true
      }
      upstream.write(data)
    })
    upstream.on('data', data => {
      if (isDoomed) cut()
      else client.write(data)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    close() {
      for (const socket of open) socket.destroy()
      server.close()
    },
    cutBy(how) {
      choose = how
    },
    port: (server.address() as { port: number }).port,
    cutNext: (words, when) => {
      next = { words, when }
    },
    get cuts() {
      return cuts
    },
  }
}
