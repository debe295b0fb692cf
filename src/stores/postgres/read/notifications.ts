/**
 * Notifications between nodes: the numbers of the projects that a commit wrote to, nothing else.
 *
 * Sent after the commit and not in it: notifying transactions commit one after the other on the whole server. When a node
 * dies in between, the others find the events by polling.
 */
import type pg from 'pg'
import type { Database } from '../database.ts'

/**
 * Commits of so many milliseconds share one notification: the first after a pause is told at once, those of a burst
 * together, because telling costs as much as appending.
 */
const gatherMs = { first: 2, burst: 25 }
const reconnectMs = { first: 50, longest: 2_000 }

export function notifications({
  database,
  heard,
  connected,
}: {
  database: Database
  heard(project: number): void
  /** Called when listening begins, and begins again: something may have been missed. */
  connected(): void
}) {
  const channel = `colloquy_${database.url.schema}`.slice(0, 63)
  const told = new Set<number>()
  let timer: NodeJS.Timeout | undefined
  let sentAt = Number.NEGATIVE_INFINITY
  let client: pg.Client | undefined
  let isListening = false
  let closed = false

  function tell(project: number): void {
    told.add(project)
    if (timer) return
    const sinceLast = performance.now() - sentAt
    timer = setTimeout(send, Math.max(gatherMs.first, gatherMs.burst - sinceLast))
  }

  function send(): void {
    const projects = [...told]
    told.clear()
    timer = undefined
    sentAt = performance.now()
    if (closed) return
    database
      .once(
        // The events are safe already; the notification need not wait for the disk.
        `select set_config('synchronous_commit', 'off', true), pg_notify($1, project::text)
        from unnest($2::bigint[]) as project`,
        [channel, projects],
      )
      // Nothing depends on it: subscribers poll as well.
      .catch(() => undefined)
  }

  /** Listens from now on, and again whenever the connection is lost. Where none can be kept, polling has to do. */
  async function listen(): Promise<void> {
    if (isListening || !database.canKeep) return
    isListening = true
    let pauseMs = reconnectMs.first
    while (!closed) {
      try {
        client = await database.connect()
        const lost = new Promise<void>(resolve => client!.once('end', () => resolve()))
        client.on('notification', ({ payload }) => heard(Number(payload)))
        await client.query(`listen ${channel}`)
        keepsRunning(client, false)
        connected()
        pauseMs = reconnectMs.first
        await lost
      } catch {
        // The server is away; it is tried again.
      }
      if (closed) return
      await new Promise(resolve => setTimeout(resolve, pauseMs).unref())
      pauseMs = Math.min(reconnectMs.longest, pauseMs * 2)
    }
  }

  return {
    tell,
    listen,
    async close() {
      closed = true
      clearTimeout(timer)
      // The process must keep running until the connection has ended.
      keepsRunning(client, true)
      await client?.end().catch(() => undefined)
    },
  }
}

/** The driver's types leave this out. */
function keepsRunning(client: pg.Client | undefined, keeps: boolean): void {
  const one = client as unknown as { ref?(): void; unref?(): void } | undefined
  if (keeps) one?.ref?.()
  else one?.unref?.()
}
