/**
 * Connections of the pool that are kept at hand for a moment after use. Taking one out of the pool and putting it back sets
 * and clears two timers and takes a tenth of what a short statement takes here in all; who appends one message after
 * another, or asks one question after another, is spared that.
 */
import type pg from 'pg'
import type { Exchange } from './exchange.ts'

/** What was not used for one to two times as long goes back. A process that ends otherwise may end so much later. */
const lingerMs = 20

interface Held {
  client: pg.PoolClient
  isAtHand: boolean
  wasUsed: boolean
  lost(error: Error): void
}

export type AtHand = ReturnType<typeof atHand>

export function atHand(pool: pg.Pool) {
  const spare: Held[] = []
  let timer: NodeJS.Timeout | undefined
  let closed = false

  async function take(): Promise<Held> {
    return spare.pop() ?? held(await pool.connect())
  }

  function held(client: pg.PoolClient): Held {
    const one: Held = {
      client,
      isAtHand: false,
      wasUsed: true,
      // One that is in use fails by itself, with whatever it was asked.
      lost(error) {
        if (!one.isAtHand) return
        spare.splice(spare.indexOf(one), 1)
        release(one, error)
      },
    }
    client.on('error', one.lost)
    return one
  }

  function release(one: Held, error?: Error): void {
    one.isAtHand = false
    one.client.off('error', one.lost)
    one.client.release(error)
  }

  function giveBack(one: Held, error?: Error): void {
    if (error || closed || pool.waitingCount > 0) {
      release(one, error)
      return
    }
    one.isAtHand = true
    one.wasUsed = true
    spare.push(one)
    timer ??= setTimeout(look, lingerMs).unref()
  }

  function look(): void {
    timer = undefined
    for (const one of spare.splice(0)) {
      if (one.wasUsed) {
        one.wasUsed = false
        spare.push(one)
      } else release(one)
    }
    if (spare.length > 0) timer = setTimeout(look, lingerMs).unref()
  }

  /** One round trip, on whatever connection is free. One on which something failed is ended. */
  function exchange(what: Exchange): Promise<unknown[][][]> {
    const one = spare.pop()
    return one ? exchangeOn(one, what) : pool.connect().then(client => exchangeOn(held(client), what))
  }

  function exchangeOn(one: Held, what: Exchange): Promise<unknown[][][]> {
    one.isAtHand = false
    return new Promise((resolve, reject) => {
      what.callback = (error, answers) => {
        what.callback = undefined
        giveBack(one, error ?? undefined)
        if (error) reject(error)
        else resolve(answers!)
      }
      try {
        one.client.query(what as unknown as pg.QueryConfig)
      } catch (error) {
        what.callback?.(error as Error)
      }
    })
  }

  /** Works with a connection alone. The work says what broke it, if anything did. */
  async function connection<T>(work: (client: pg.PoolClient, broke: (error: Error) => void) => Promise<T>): Promise<T> {
    const one = await take()
    one.isAtHand = false
    let broken: Error | undefined
    const broke = (error: Error) => {
      broken = error
    }
    // A connection that is lost between two statements says so here; the next statement fails by itself.
    one.client.on('error', broke)
    try {
      return await work(one.client, broke)
    } finally {
      one.client.off('error', broke)
      giveBack(one, broken)
    }
  }

  async function end(): Promise<void> {
    closed = true
    clearTimeout(timer)
    for (const one of spare.splice(0)) release(one)
    await pool.end()
  }

  return { exchange, connection, end }
}
