/** A server over a store as a team leaves it, for tests of the UI. */
import type { OpenOptions } from 'colloquy'
import type { ServerOptions } from 'colloquy/server'
import { type Demo, fillDemo } from '../demo-store.ts'
import { type FreshServer, freshServer } from '../server.ts'

export async function demoServer(
  options: { open?: OpenOptions; configuration?: ServerOptions } = {},
): Promise<FreshServer & { demo: Demo }> {
  const server = await freshServer(options)
  return Object.assign(server, { demo: await fillDemo(server.colloquy) })
}
