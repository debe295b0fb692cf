/**
 * The connections to the server: a pool with limits, prepared statements, rows as arrays, time-outs for statements and
 * locks. Waits for a server that went away, for as long as a caller is ready to wait, and goes to the one that took its
 * place where the URL names several.
 */
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { StoreClosed } from '../../errors.ts'
import { type AtHand, atHand } from './at-hand.ts'
import { asStoreError, codeOf, isCollision, isLostConnection } from './errors.ts'
import { Exchange, int8 } from './exchange.ts'
import { hostFinder } from './hosts.ts'
import {
  connectionSettings,
  localSettings,
  type SettingsInput,
  startupOptions,
  transactionSettings,
} from './settings.ts'
import { together } from './together.ts'
import type { Place } from './url.ts'
import type { Value } from './value.ts'
import type { Statement } from './wire.ts'

/** Runs one statement and gives its rows as arrays. */
export type Run = <Row>(sql: string, values?: readonly Value[]) => Promise<Row[]>

export interface Database {
  readonly place: Place
  /** Runs a statement that may safely run twice: it is tried again when the connection is lost on the way. */
  read: Run
  /** The same for a short question: those that are asked at the same moment share a round trip. */
  look: Run
  /** Runs a statement once. A lost connection leaves its outcome unknown. */
  once: Run
  /** Runs work in a transaction: all of it is done, or nothing. Tried again when nothing of it can have been done. */
  transaction<T>(work: (run: Run) => Promise<T>, options?: { readOnly?: boolean }): Promise<T>
  /** Whether a connection can be kept: not through a pooler. */
  readonly canKeep: boolean
  /** A connection to keep, for listening and for locks that last. The caller ends it. */
  connect(): Promise<pg.Client>
  close(): Promise<void>
}

export interface DatabaseOptions extends SettingsInput {
  /** Connections at the most, beside those that are kept. */
  connections: number
}

const types = {
  getTypeParser: (oid: number, format?: unknown) =>
    oid === int8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
}

/** Of several servers one that does not answer is not worth waiting for long. */
const connectWithinMs = 2_000

export function openDatabase(options: DatabaseOptions): Database {
  const { place, readOnly, busyTimeoutMs, connections } = options
  const find = hostFinder(place, { readOnly })
  const hasOthers = place.connectionStrings.length > 1
  const perTransaction = transactionSettings(options)
  const local = perTransaction && localSettings(perTransaction)
  const common: pg.PoolConfig = {
    application_name: 'colloquy',
    keepAlive: true,
    connectionTimeoutMillis: hasOthers ? Math.min(connectWithinMs, busyTimeoutMs) : busyTimeoutMs,
    types: types as never,
  }
  const kept = { ...common, options: startupOptions(connectionSettings(options)) }
  let opened: Promise<AtHand> | undefined
  /** The same, when it is there. */
  let current: { opened: Promise<AtHand>; server: AtHand } | undefined
  let closed = false

  async function open(): Promise<AtHand> {
    const connectionString = await find()
    const pool = new pg.Pool({
      ...(place.isPooled ? common : kept),
      connectionString,
      max: connections,
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
    })
    // An idle connection that is lost is replaced when the next one is needed.
    pool.on('error', () => undefined)
    return atHand(pool)
  }

  function server(): Promise<AtHand> {
    opened ??= open().catch(error => {
      opened = undefined
      throw error
    })
    return opened
  }

  /** Works with the server that is the one now; when it is not any more, the next caller looks for another. */
  function using<T>(work: (server: AtHand) => Promise<T>): Promise<T> {
    const mine = server()
    if (current?.opened === mine) {
      const { server: here } = current
      return work(here).catch(error => failed(mine, here, error))
    }
    return mine.then(here => {
      current = { opened: mine, server: here }
      return work(here).catch(error => failed(mine, here, error))
    })
  }

  function failed(mine: Promise<AtHand>, here: AtHand, error: unknown): never {
    const isDemoted = hasOthers && !readOnly && codeOf(error) === '25006'
    if (!isDemoted && !(hasOthers && isLostConnection(error))) throw error
    if (opened === mine) {
      opened = undefined
      here.end().catch(() => undefined)
    }
    throw isDemoted ? Object.assign(new Error('the server takes no writes any more'), { code: '08006' }) : error
  }

  function statement(sql: string, values: readonly Value[]): Statement {
    return { name: place.isPooled ? '' : nameOf(sql), text: sql, values }
  }

  /** A statement in a transaction. */
  function execute<Row>(client: pg.PoolClient, sql: string, values: readonly Value[]): Promise<Row[]> {
    const exchange = new Exchange([statement(sql, values)])
    return new Promise((resolve, reject) => {
      exchange.callback = (error, answers) => (error ? reject(error) : resolve(answers![0] as Row[]))
      client.query(exchange as unknown as pg.QueryConfig)
    })
  }

  /** Statements that are a transaction of their own. */
  function alone(from: AtHand, statements: readonly [Statement, ...Statement[]]): Promise<unknown[][][]> {
    return from.exchange(new Exchange(statements, local))
  }

  function single<Row>(from: AtHand, sql: string, values: readonly Value[]): Promise<Row[]> {
    return alone(from, [statement(sql, values)]).then(([rows]) => rows as Row[])
  }

  const look = together({
    one: async one => (await using(from => alone(from, [one])))[0]!,
    several: statements => using(from => alone(from, statements)),
  })

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
    const attempt = (from: AtHand) =>
      from.connection(async (client, broke) => {
        try {
          await client.query(reads ? 'begin isolation level repeatable read read only' : 'begin')
          if (local) await client.query(local)
          const result = await work((sql, values = []) => execute(client, sql, values))
          mayHaveCommitted = !reads
          await client.query('commit')
          return result
        } catch (error) {
          if (isLostConnection(error)) broke(error as Error)
          else {
            mayHaveCommitted = false
            await client.query('rollback').catch(broke)
          }
          throw error
        }
      })
    return patiently(
      () => using(attempt),
      error => isCollision(error) || (!mayHaveCommitted && isLostConnection(error)),
    )
  }

  return {
    place,
    read: (sql, values = []) => patiently(() => using(from => single(from, sql, values)), isLostConnection),
    look: (sql, values = []) => patiently(() => look(statement(sql, values)) as Promise<never[]>, isLostConnection),
    once: (sql, values = []) => using(from => single(from, sql, values)),
    transaction,
    canKeep: !place.isPooled || place.direct !== undefined,
    async connect() {
      const connectionString = place.direct ?? (await find())
      const client = new pg.Client({ ...kept, connectionString })
      client.on('error', () => undefined)
      await client.connect()
      return client
    },
    async close() {
      closed = true
      const last = await opened?.catch(() => undefined)
      await last?.end()
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
