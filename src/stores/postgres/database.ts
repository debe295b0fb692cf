/**
 * The connections to the server: a pool with limits, prepared statements, rows as arrays, time-outs for statements and
 * locks. Waits for a server that went away, for as long as a caller is ready to wait.
 */
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { StoreClosed } from '../../errors.ts'
import { asStoreError, isCollision, isLostConnection } from './errors.ts'
import type { Place } from './place.ts'

/** What the server takes. */
export type Value = string | number | boolean | null | Uint8Array | readonly string[] | readonly number[]

/** Runs one statement and gives its rows as arrays. */
export type Run = <Row>(sql: string, values?: readonly Value[]) => Promise<Row[]>

export interface Database {
  readonly place: Place
  /** Runs a statement that may safely run twice: it is tried again when the connection is lost on the way. */
  read: Run
  /** Runs a statement once. A lost connection leaves its outcome unknown. */
  once: Run
  /** Runs work in a transaction: all of it is done, or nothing. Tried again when nothing of it can have been done. */
  transaction<T>(work: (run: Run) => Promise<T>, options?: { readOnly?: boolean }): Promise<T>
  /** A connection of its own, for listening. The caller ends it. */
  connect(): Promise<pg.Client>
  close(): Promise<void>
}

export interface DatabaseOptions {
  place: Place
  durability: 'full' | 'relaxed'
  readOnly: boolean
  /** How long a caller waits for the server, or for others, before it is refused. */
  busyTimeoutMs: number
  /** Connections at the most, beside the one that listens. */
  connections: number
}

/** Numbers of rows and transactions come as 64 bits; they stay far below what a JavaScript number holds. */
const int8 = 20
const types = {
  getTypeParser: (oid: number, format?: unknown) =>
    oid === int8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
}

export function openDatabase({ place, durability, readOnly, busyTimeoutMs, connections }: DatabaseOptions): Database {
  const settings = {
    search_path: place.schema,
    // With synchronous standbys, 'on' waits for them too.
    synchronous_commit: durability === 'full' ? 'on' : 'off',
    statement_timeout: '600s',
    lock_timeout: `${busyTimeoutMs}ms`,
    // A node that stops in the middle must not hold others up for ever.
    idle_in_transaction_session_timeout: '30s',
    default_transaction_read_only: readOnly ? 'on' : 'off',
    // A plan made for one size of batch serves the others; and one made while a table was small must serve when it has
    // grown. Everything we ask has an index for it, and is over before compiling it would pay.
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    enable_material: 'off',
    jit: 'off',
    ...(place.project !== undefined && { 'colloquy.project': place.project }),
  }
  const configuration: pg.PoolConfig = {
    connectionString: place.connectionString,
    application_name: 'colloquy',
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value.replace(/[\\\s]/g, '\\$&')}`)
      .join(' '),
    keepAlive: true,
    connectionTimeoutMillis: busyTimeoutMs,
    types: types as never,
  }
  const pool = new pg.Pool({ ...configuration, max: connections, idleTimeoutMillis: 30_000, allowExitOnIdle: true })
  // An idle connection that is lost is replaced when the next one is needed.
  pool.on('error', () => undefined)
  let closed = false

  async function execute<Row>(client: pg.Pool | pg.PoolClient, sql: string, values: readonly Value[]): Promise<Row[]> {
    const result = await client.query({ name: nameOf(sql), text: sql, values: values as unknown[], rowMode: 'array' })
    return result.rows as Row[]
  }

  /** Tries again while the server is away, or took a transaction back, until the time is over. */
  async function patiently<T>(attempt: () => Promise<T>, mayRepeat: (error: unknown) => boolean): Promise<T> {
    const deadline = performance.now() + busyTimeoutMs
    for (let tries = 0; ; tries++) {
      if (closed) throw new StoreClosed()
      try {
        return await attempt()
      } catch (error) {
        if (!mayRepeat(error) || performance.now() > deadline) throw asStoreError(error, place.name)
        await wait(Math.min(250, 5 * 2 ** tries) * (0.5 + Math.random()))
      }
    }
  }

  async function transaction<T>(work: (run: Run) => Promise<T>, { readOnly: reads = false } = {}): Promise<T> {
    let mayHaveCommitted = false
    const attempt = async () => {
      const client = await pool.connect()
      let broken: Error | undefined
      // A connection that is lost between two statements says so here; the next statement fails by itself.
      const noteLoss = (error: Error) => {
        broken = error
      }
      client.on('error', noteLoss)
      try {
        await client.query(reads ? 'begin isolation level repeatable read read only' : 'begin')
        const result = await work((sql, values = []) => execute(client, sql, values))
        mayHaveCommitted = !reads
        await client.query('commit')
        return result
      } catch (error) {
        if (isLostConnection(error)) broken = error as Error
        else {
          mayHaveCommitted = false
          await client.query('rollback').catch((failure: Error) => {
            broken = failure
          })
        }
        throw error
      } finally {
        client.off('error', noteLoss)
        client.release(broken)
      }
    }
    return patiently(attempt, error => isCollision(error) || (!mayHaveCommitted && isLostConnection(error)))
  }

  return {
    place,
    read: (sql, values = []) => patiently(() => execute(pool, sql, values), isLostConnection),
    once: (sql, values = []) => execute(pool, sql, values),
    transaction,
    async connect() {
      const client = new pg.Client(configuration)
      client.on('error', () => undefined)
      await client.connect()
      return client
    },
    async close() {
      closed = true
      await pool.end()
    },
  }
}

const names = new Map<string, string>()

/** A short name per statement, so that the server plans it once per connection. */
function nameOf(sql: string): string {
  let name = names.get(sql)
  if (name === undefined) {
    name = `colloquy_${names.size + 1}`
    names.set(sql, name)
  }
  return name
}
