/** The connections to the server that is the one now; to the one that takes its place, where the URL names several. */
import pg from 'pg'
import { codeOf, isLostConnection } from './errors.ts'
import { findHost } from './hosts.ts'
import { connectionSettings, type SettingsInput, startupOptions } from './settings.ts'

export interface PoolOptions extends SettingsInput {
  /** Connections at most, without those that are kept. */
  connections: number
}

/** The server's number for the type `bigint`. */
const int8 = 20

/** Numbers of rows and transactions come as 64 bits; they stay far below what a JavaScript number holds. */
const types = {
  getTypeParser: (oid: number, format?: unknown) =>
    oid === int8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
}

/** The time for a connection to one server of a list: the others are not kept waiting for long. */
const connectWithinMs = 2_000

export class ServerPool {
  readonly #options: PoolOptions
  readonly #hasOthers: boolean
  readonly #find: () => Promise<string>
  #opened: Promise<pg.Pool> | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#hasOthers = options.url.connectionStrings.length > 1
    this.#find = findHost(options.url, options)
  }

  /** Works with a connection. When its server is not the one any more, the next caller looks for another. */
  async use<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const opened = this.#pool()
    const pool = await opened
    try {
      return await withClient(pool, work)
    } catch (error) {
      const isDemoted = this.#hasOthers && !this.#options.readOnly && codeOf(error) === '25006'
      if (!isDemoted && !(this.#hasOthers && isLostConnection(error))) throw error
      if (this.#opened === opened) {
        this.#opened = undefined
        pool.end().catch(() => undefined)
      }
      throw isDemoted ? Object.assign(new Error('the server takes no writes any more'), { code: '08006' }) : error
    }
  }

  /** A connection outside the pool, past a pooler where the URL says how. The caller ends it. */
  async connect(): Promise<pg.Client> {
    const connectionString = this.#options.url.direct ?? (await this.#find())
    const client = new pg.Client({ ...this.#config(), ...this.#startup(), connectionString })
    client.on('error', () => undefined)
    await client.connect()
    return client
  }

  async end(): Promise<void> {
    const pool = await this.#opened?.catch(() => undefined)
    await pool?.end()
  }

  #pool(): Promise<pg.Pool> {
    this.#opened ??= this.#open().catch(error => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  async #open(): Promise<pg.Pool> {
    const pool = new pg.Pool({
      ...this.#config(),
      // A transaction pooler would set them for the next client, too.
      ...(!this.#options.url.isPooled && this.#startup()),
      connectionString: await this.#find(),
      // Statements are sent without waiting for the answers to those before them.
      pipeline: true,
      max: this.#options.connections,
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
    })
    // An idle connection that is lost is replaced when the next one is needed.
    pool.on('error', () => undefined)
    return pool
  }

  #config(): pg.ClientConfig {
    const { busyTimeoutMs } = this.#options
    return {
      application_name: 'colloquy',
      keepAlive: true,
      connectionTimeoutMillis: this.#hasOthers ? Math.min(connectWithinMs, busyTimeoutMs) : busyTimeoutMs,
      types: types as never,
    }
  }

  #startup(): { options: string } {
    return { options: startupOptions(connectionSettings(this.#options)) }
  }
}

async function withClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  // A connection that is lost between two statements says so here; the next statement fails by itself.
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    return await work(client)
  } catch (error) {
    if (isLostConnection(error)) broken = error as Error
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}
