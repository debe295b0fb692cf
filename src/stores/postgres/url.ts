/** The URL of a store: a database on one server or on one of several, and the schema in it that is ours. */
import { StoreUnusable } from '../../errors.ts'

/** The kinds of server that a list can be searched for, by the names of PostgreSQL's own library. */
export const wantedServers = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const
export type WantedServer = (typeof wantedServers)[number]

export interface ServerUrl {
  /** For the driver, without our own parameters; one for each host of the list. */
  connectionStrings: readonly [string, ...string[]]
  /** The kind of server that the URL asks for, if it does. */
  wanted: WantedServer | undefined
  /** A pooler stands in between that gives a connection of the server for a transaction and no longer. */
  isPooled: boolean
  /** The connection string past the pooler, for connections that are kept. */
  direct: string | undefined
  schema: string
  /** The only project that the connections are for, where the role may see no other. */
  project: string | undefined
  /** For people and traces: without user and password. */
  name: string
}

const defaultSchema = 'colloquy'
const ownParameters = ['schema', 'project', 'pooler', 'direct', 'target_session_attrs']

/** @throws {StoreUnusable} when a part of the URL cannot be used */
export function parseUrl(url: string): ServerUrl {
  const [address = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  const schema = parameters.get('schema') ?? defaultSchema
  const project = parameters.get('project') ?? undefined
  const name = `${address.replace(/\/\/.*@/, '//')} schema ${schema}`
  // It stands in a setting of the connection, unquoted.
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new StoreUnusable(`"${schema}" cannot be the name of a schema here. Use small letters, digits and _ only.`, {
      schema,
    })
  }
  const wanted = choice(parameters, 'target_session_attrs', wantedServers)
  const isPooled = choice(parameters, 'pooler', ['transaction', 'session']) === 'transaction'
  const direct = parameters.get('direct') ?? undefined
  for (const name of ownParameters) parameters.delete(name)
  const connectionStrings = eachHost(address, parameters)
  return {
    connectionStrings,
    wanted,
    isPooled,
    direct: direct === undefined ? undefined : withHost(connectionStrings[0], direct),
    schema,
    project,
    name,
  }
}

function choice<T extends string>(parameters: URLSearchParams, name: string, choices: readonly T[]): T | undefined {
  const value = parameters.get(name)
  if (value === null || choices.includes(value as T)) return (value as T | null) ?? undefined
  throw new StoreUnusable(`${name}=${value} is not a known value. Choose from ${choices.join(', ')}.`, {
    [name]: value,
  })
}

/** The hosts of `//a:1,b:2/`, or those of `?host=a,b&port=1,2`; the driver knows one at a time only. */
function eachHost(address: string, parameters: URLSearchParams): [string, ...string[]] {
  const [, before = '', hosts = '', after = ''] = address.match(/^([^/]*\/\/(?:[^@/]*@)?)([^/]*)(.*)$/) ?? []
  const text = (host: string, given: URLSearchParams) =>
    `${before}${host}${after}${given.size === 0 ? '' : `?${given}`}`
  const named = parameters.get('host')?.split(',') ?? []
  if (named.length < 2) return hosts.split(',').map(host => text(host, parameters)) as [string, ...string[]]
  const ports = parameters.get('port')?.split(',') ?? []
  return named.map((host, index) => {
    const one = new URLSearchParams(parameters)
    one.set('host', host)
    const port = ports[index] ?? ports[0]
    if (port !== undefined) one.set('port', port)
    return text(hosts, one)
  }) as [string, ...string[]]
}

function withHost(connectionString: string, host: string): string {
  const [address = '', query = ''] = connectionString.split('?')
  const parameters = new URLSearchParams(query)
  for (const one of ['host', 'port']) parameters.delete(one)
  return `${address.replace(/(\/\/(?:[^@/]*@)?)[^/]*/, `$1${host}`)}${parameters.size === 0 ? '' : `?${parameters}`}`
}
