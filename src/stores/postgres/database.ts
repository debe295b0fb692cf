/**
 * Statements and transactions on the server: prepared once per connection, rows as arrays. Waits for a server that went
 * away for as long as a caller is ready to wait.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type pg from 'pg'
import { StoreClosed } from '../../errors.ts'
import { asStoreError, isCollision, isLostConnection } from './errors.ts'
import { type PoolOptions, ServerPool } from './server-pool.ts'
import { setLocally, transactionSettings } from './settings.ts'
import type { ServerUrl } from './url.ts'

export type Value = string | number | boolean | null | Uint8Array | ReadonlyArray<string | number | Uint8Array | null>

/** Runs one statement and returns its rows as arrays. */
export type Run = <Row>(sql: string, values?: readonly Value[]) => Promise<Row[]>

export interface TransactionOptions {
  readOnly?: boolean
  /**
   * The work notices when an earlier attempt of it was committed. It is then tried again also when the connection was
   * lost during the commit.
   */
  noticesCommit?: boolean
  /** The server ends the transaction when it says nothing for so long, and releases its locks. Default 30 seconds. */
  maxIdleMs?: number
}

export interface Database {
  readonly url: ServerUrl
  /** Runs a statement that may safely run twice: it is tried again when the connection is lost on the way. */
  read: Run
  /** Runs a statement once. A lost connection leaves its outcome unknown. */
  once: Run
  /** Runs work in a transaction: all of it is done, or nothing. Tried again when nothing of it can have been done. */
  transaction<T>(work: (run: Run) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** True when a connection can be kept: not through a pooler. */
  readonly canKeep: boolean
  /** A connection to keep, for listening and for locks that last. The caller ends it. */
  connect(): Promise<pg.Client>
  close(): Promise<void>
}

export function openDatabase(options: PoolOptions): Database {
  const { url, busyTimeoutMs } = options
  const server = new ServerPool(options)
  const settings = transactionSettings(options)
  const local = settings ? `; ${setLocally(settings)}` : ''
  let closed = false

  /** Tries again while `mayRepeat` allows it and the time is not over. */
  async function patiently<T>(attempt: () => Promise<T>, mayRepeat: (error: unknown) => boolean): Promise<T> {
    const deadline = performance.now() + busyTimeoutMs
    for (let tries = 0; ; tries++) {
      if (closed) throw new StoreClosed()
      try {
        return await attempt()
      } catch (error) {
        if (!mayRepeat(error) || performance.now() > deadline) throw asStoreError(error, url.name)
        await wait(Math.min(250, 5 * 2 ** tries) * (0.5 + Math.random()))
      }
    }
  }

  const once: Run = (sql, values = []) =>
    server.use(async client => {
      if (!local) return execute(client, sql, values)
      const sent = [client.query(`begin${local}`), execute(client, sql, values), client.query('commit')] as const
      const failed = (await Promise.allSettled(sent)).find(answer => answer.status === 'rejected')
      if (failed) throw failed.reason
      return sent[1]
    }) as Promise<never[]>

  async function execute(client: pg.PoolClient, text: string, values: readonly Value[]): Promise<unknown[][]> {
    const query: pg.QueryArrayConfig = { text, values: values as unknown[], rowMode: 'array' }
    // A pooler would hand a prepared statement to another client.
    if (!url.isPooled) query.name = nameOf(text)
    const { rows } = await client.query(query)
    return rows
  }

  function transaction<T>(
    work: (run: Run) => Promise<T>,
    { readOnly = false, noticesCommit = false, maxIdleMs }: TransactionOptions = {},
  ): Promise<T> {
    const isolation = readOnly ? ' isolation level repeatable read read only' : ''
    const idle =
      maxIdleMs === undefined ? '' : `; set local idle_in_transaction_session_timeout = ${Math.ceil(maxIdleMs)}`
    const begin = `begin${isolation}${local}${idle}`
    let mayHaveCommitted = false
    const attempt = async (client: pg.PoolClient) => {
      // Not waited for: the first statements follow in the same round trip.
      const begun = client.query(begin).then(
        () => undefined,
        error => ({ error }),
      )
      try {
        const result = await work((sql, values = []) => execute(client, sql, values) as Promise<never[]>)
        mayHaveCommitted = !readOnly
        const { command } = await client.query('commit')
        if (command !== 'COMMIT')
          throw new Error('a statement of the transaction failed unnoticed; nothing was written')
        return result
      } catch (error) {
        // Statements behind a `begin` that failed only say that there is no transaction.
        const failure = (await begun)?.error ?? error
        if (!isLostConnection(failure)) {
          mayHaveCommitted = false
          await client.query('rollback').catch(() => undefined)
        }
        throw failure
      }
    }
    return patiently(
      () => server.use(attempt),
      error => isCollision(error) || (isLostConnection(error) && (noticesCommit || !mayHaveCommitted)),
    )
  }

  return {
    url,
    read: (sql, values) => patiently(() => once(sql, values), isLostConnection),
    once,
    transaction,
    canKeep: !url.isPooled || url.direct !== undefined,
    connect: () => server.connect(),
    async close() {
      closed = true
      await server.end()
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
