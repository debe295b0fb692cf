/** Settings of a running server. */
import { ServerOptions } from '../app/configuration/server-settings.ts'
import { parseInput } from '../log/commands/input.ts'

type CheckedOptions = ReturnType<typeof ServerOptions.parse>

export interface ServerSettings extends Omit<CheckedOptions, 'hosts' | 'origins'> {
  /** Names in the Host header that are served, with their port: `localhost:7333`. Its own are added when it listens. */
  hosts: Set<string>
  /** Origins of pages that may call. Its own are added when it listens. */
  origins: Set<string>
}

/** @throws {InvalidInput} naming the option */
export function serverSettings(input: ServerOptions = {}): ServerSettings {
  const options = parseInput(ServerOptions, input)
  return {
    ...options,
    basePath: plainPath(options.basePath),
    hosts: new Set(options.hosts.map(host => host.toLowerCase())),
    origins: new Set(options.origins.map(origin => origin.toLowerCase())),
  }
}

/** Accepts `colloquy/` and `/colloquy` as the same path. */
function plainPath(path: string): string {
  const names = path.split('/').filter(name => name !== '')
  return names.map(name => `/${name}`).join('')
}
