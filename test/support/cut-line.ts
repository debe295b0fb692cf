/** A line between a browser and a server that can be cut and mended: what was open breaks, what is new is refused. */
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface CutLine {
  port: number
  /** Sets the target port. */
  lead(port: number): void
  cut(): void
  mend(): void
}

export async function cutLine(): Promise<CutLine> {
  const open = new Set<Socket>()
  let target = 0
  let isCut = false
  const server = createServer(client => {
    if (isCut) {
      client.destroy()
      return
    }
    const upstream = connectTo(target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.pipe(client)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    isCut = true
    for (const socket of open) socket.destroy()
  }
  onTestFinished(() => {
    cut()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    lead: port => {
      target = port
    },
    cut,
    mend: () => {
      isCut = false
    },
  }
}
