/** How a server behaves where nobody says otherwise. */
import type { Logger } from 'pino'

export interface Limits {
  /** Bytes of a request's body. Default 33 MB: the largest message, escaped. */
  bodyBytes: number
  /** How deep JSON may be nested. */
  depth: number
  /** Live streams at the same time. */
  streams: number
  /** Requests per second and token, with bursts of twice as many; null for no limit. */
  requestsPerSecond: number | null
}

export interface ServerSettings {
  /** Names in the Host header that are served, with their port: `localhost:7333`. Filled in when the server listens. */
  hosts: Set<string>
  /** Origins of pages that may call. Its own are among them. */
  origins: Set<string>
  limits: Limits
  /** How often a quiet stream says that it is alive. */
  heartbeatMs: number
  /** How long a client may leave what it was sent unread before it is dropped. */
  stallMs: number
  /** How often the maintenance sweep runs; null for never. */
  sweepEveryMs: number | null
  /**
   * The path that everything is below, such as `/colloquy`, where a proxy in front hands it on or takes it off: both
   * are understood. Empty for none.
   */
  basePath: string
  /** The folder that context may be gathered from, in the project the store was opened for. Others have their own. */
  root: string | undefined
  trace: Logger | undefined
}

export const defaultLimits: Limits = {
  bodyBytes: 33 * 1024 * 1024,
  depth: 100,
  streams: 2000,
  requestsPerSecond: 5000,
}

export type ServerSettingsInput = Partial<
  Omit<ServerSettings, 'limits' | 'hosts' | 'origins'> & {
    limits: Partial<Limits>
    hosts: Iterable<string>
    origins: Iterable<string>
  }
>

export function completeServerSettings(input: ServerSettingsInput = {}): ServerSettings {
  const { limits, hosts = [], origins = [], basePath = '', ...rest } = input
  return {
    heartbeatMs: 15_000,
    stallMs: 30_000,
    sweepEveryMs: 3_600_000,
    root: undefined,
    trace: undefined,
    ...rest,
    basePath: plainPath(basePath),
    hosts: new Set([...hosts].map(host => host.toLowerCase())),
    origins: new Set([...origins].map(origin => origin.toLowerCase())),
    limits: { ...defaultLimits, ...limits },
  }
}

/** `colloquy/` and `/colloquy` are the same. */
function plainPath(path: string): string {
  const names = path.split('/').filter(name => name !== '')
  return names.map(name => `/${name}`).join('')
}
