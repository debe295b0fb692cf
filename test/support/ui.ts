/** A server over a store as a team leaves it, for tests of the UI. */
import type { OpenOptions } from 'colloquy'
import type { ServerSettingsInput } from 'colloquy/server'
import { type Demo, fillDemo } from './demo-store.ts'
import { type Served, served } from './server.ts'

export async function servedDemo(
  options: { open?: OpenOptions; configuration?: ServerSettingsInput } = {},
): Promise<Served & { demo: Demo }> {
  const server = await served(options)
  return Object.assign(server, { demo: await fillDemo(server.colloquy) })
}
