/**
 * Ordered subscriptions. Each reader is a cursor over positions; new events of a project are read once per process into
 * a short tail that all readers at the end share, and a reader that fell behind the tail reads the table instead.
 *
 * Commits of this process wake readers at once; those of others by a notification with nothing but the project's number
 * in it, and by polling where notifications are lost with their connection.
 */
import { PositionUnknown } from '../../errors.ts'
import type { SubscribeOptions } from '../../log/event-log.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import { eventCharacters, feedLimits, isFullPage, pageOfTail, tooManyInTail } from '../common/feed-limits.ts'
import type { Database } from './database.ts'
import { asStoreError } from './errors.ts'
import { oldestWriter, preciseGate, usualGate } from './gate.ts'
import { checkOf, isAfter, type Place, positionParts, positionText, theStart } from './position.ts'
import type { Projects } from './projects.ts'
import { blobsOf, type EventRow, eventColumns, recordedEvent } from './rows.ts'

interface Entry {
  place: Place
  event: RecordedEvent
  /** Characters, near enough. */
  size: number
}

/** Where a reader starts. Of what is not behind it, some may have been there before already. */
interface Start {
  place: Place
  wasThere(tx: number): boolean
}

const pollMs = 250
/** While events wait behind a transaction that is still under way: look again so soon, and ask precisely so late. */
const heldUp = { lookAgainMs: 5, preciseAfterMs: 200, reportAfterMs: 5_000 }

type FeedRow = [...EventRow, conversationId: string, before: string | null]

export function feed({
  database,
  projects,
  epoch,
  base,
  report,
}: {
  database: Database
  projects: Projects
  epoch: string
  base: number
  /** Told when a transaction elsewhere holds events up. */
  report(message: string): void
}) {
  const sql = {
    // Measured in characters, as the tail is: a page that was cut off must not look like the last.
    after: `
      select * from (
        select e.*, sum(length(e.body)) over (order by e.tx, e.n) - length(e.body) as before from (
          select ${eventColumns}, c.id from events e join conversations c using (project, conversation)
          where e.project = $1 and (e.tx, e.n) > ($2, $3) and e.tx < greatest($5::bigint, ${usualGate} + $4)
          order by e.tx, e.n limit ${feedLimits.page.events}) e) e
      where coalesce(before, 0) < ${feedLimits.page.characters} order by tx, n`,
    isHeldUp: `select exists (select 1 from events where project = $1 and tx >= ${usualGate} + $2)`,
    snapshot: 'select pg_current_snapshot()::text',
    hashAt: 'select hash from events where project = $1 and tx = $2 and n = $3',
    newestPurges: `
      select p.n, (select max(purge) from purges where project = p.n) from unnest($1::bigint[]) as p (n)`,
    end: 'select pg_snapshot_xmax(pg_current_snapshot())::text::bigint',
    newest: `
      select e.tx, e.n, e.hash, ${usualGate} from projects p cross join lateral (
        select tx, n, hash from events where project = p.project order by tx desc, n desc limit 1) e
      order by e.tx desc, e.n desc limit 1`,
  }
  const feeds = new Map<string, ProjectFeed>()
  const starting = new Set<Promise<unknown>>()
  let timer: NodeJS.Timeout | undefined
  let closed = false
  /** Grows whenever content was removed, so that nobody hands out what they read ahead. */
  let forgettings = 0
  /** Since when events have been waiting behind a transaction under way. */
  let heldUpSince: number | undefined
  let isReported = false

  /** The readers of one project and what they share. */
  interface ProjectFeed {
    project: string
    readers: number
    /** The newest events in order. */
    tail: Entry[]
    /** The place the first of the tail comes after; undefined until a reader was at the end. Complete up to there. */
    tailStart: Place | undefined
    waiting: Set<() => void>
    pulling: Promise<void> | undefined
    /** There may be more than the tail has. */
    hasNews: boolean
    /** The newest purge that is known, if there was any. Undefined until that was asked. */
    newestPurge: number | null | undefined
  }

  /** Events after a place, as far as the log is known to be complete: by the usual gate, or by what the caller knows. */
  async function page(project: string, after: Place, completeBelow = 0, ask = database.read): Promise<Entry[]> {
    const number = await projects.find(project)
    if (number === undefined) return []
    const rows = await ask<FeedRow>(sql.after, [number, after.tx, after.n, base, completeBelow])
    const load = await blobsOf(
      database.read,
      number,
      rows.map(row => row[11]),
    )
    return rows.map(row => {
      const conversationId = row[13] as string
      const event = recordedEvent(row.slice(0, -2) as EventRow, { project, conversationId, epoch }, load)
      return { place: { tx: row[0], n: row[1] }, event, size: eventCharacters(row[11]) }
    })
  }

  /** Takes what is new into the tail. One read serves every reader that is at the end. */
  async function pull(one: ProjectFeed): Promise<void> {
    one.hasNews = false
    for (;;) {
      const end = one.tail.at(-1)?.place ?? one.tailStart
      if (!end) break
      // At the same moment, so in one round trip.
      const [isPurged, found] = await Promise.all([forgetPurged([one]), page(one.project, end, 0, database.look)])
      // What was read may be among what was purged.
      if (isPurged) continue
      let fresh = found
      if (fresh.length === 0) fresh = await pastIdleTransactions(one, end)
      if (fresh.length === 0) break
      for (const { event } of fresh) if (event.event.type === 'message.erased') forget()
      one.tail.push(...fresh)
      const dropped = tooManyInTail(one.tail)
      if (dropped > 0) {
        one.tailStart = one.tail[dropped - 1]!.place
        one.tail = one.tail.slice(dropped)
      }
      if (!isFullPage(fresh)) break
    }
    wakeReaders(one)
  }

  /** Drops what is kept in memory if another node purged something of it; true if it did. */
  async function forgetPurged(some: readonly ProjectFeed[]): Promise<boolean> {
    const byNumber = new Map<number, ProjectFeed>()
    for (const one of some) {
      const number = await projects.find(one.project)
      if (number !== undefined) byNumber.set(number, one)
    }
    if (byNumber.size === 0) return false
    const rows = await database.look<[number, number | null]>(sql.newestPurges, [[...byNumber.keys()]])
    let isPurged = false
    for (const [number, newest] of rows) {
      const one = byNumber.get(number)!
      isPurged ||= one.newestPurge !== undefined && one.newestPurge !== newest
      one.newestPurge = newest
    }
    if (isPurged) forget()
    return isPurged
  }

  /** Events that wait only because of transactions that do not write events. Looks again soon when there are others. */
  async function pastIdleTransactions(one: ProjectFeed, end: Place): Promise<Entry[]> {
    const number = await projects.find(one.project)
    const [row] = number === undefined ? [] : await database.read<[boolean]>(sql.isHeldUp, [number, base])
    if (!row?.[0]) {
      heldUpSince = undefined
      return []
    }
    heldUpSince ??= performance.now()
    const waited = performance.now() - heldUpSince
    if (waited > heldUp.reportAfterMs && !isReported) {
      isReported = true
      const who = await oldestWriter(database.read).catch(() => 'unknown')
      report(`Subscriptions go the long way around a transaction that has been open for long: ${who}.`)
    }
    const fresh =
      waited < heldUp.preciseAfterMs ? [] : await page(one.project, end, base + (await preciseGate(database.read)))
    if (fresh.length === 0) setTimeout(() => pullSoon(one), heldUp.lookAgainMs).unref()
    return fresh
  }

  /** One pull at a time per project; a pull that was asked for meanwhile follows. */
  function pullSoon(one: ProjectFeed): void {
    if (closed || one.readers === 0) return
    one.hasNews = true
    // Who does not wait costs nothing; who comes later finds that there is news.
    if (one.pulling || one.waiting.size === 0) return
    one.pulling = pull(one)
      .catch(() => {
        // Each reader reads for itself, and hears of the failure when it gets there.
        wakeReaders(one)
      })
      .finally(() => {
        one.pulling = undefined
        if (one.hasNews) pullSoon(one)
      })
  }

  function wakeReaders(one: ProjectFeed): void {
    const woken = one.waiting
    one.waiting = new Set()
    for (const go of woken) go()
  }

  /** The next events for a reader; none when it is at the end. */
  async function entriesAfter(one: ProjectFeed, place: Place): Promise<Entry[]> {
    const { tailStart } = one
    if (!tailStart || isAfter(tailStart, place)) {
      const behind = await page(one.project, place, tailStart && tailStart.tx + 1)
      if (behind.length > 0) return behind
      one.tailStart ??= place
    }
    let low = 0
    let high = one.tail.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (isAfter(one.tail[middle]!.place, place)) high = middle
      else low = middle + 1
    }
    return pageOfTail(one.tail, low)
  }

  /** Drops what is kept in memory: some of it was erased or purged. Readers read the table again. */
  function forget(): void {
    forgettings++
    for (const one of feeds.values()) {
      one.tailStart = one.tail.at(-1)?.place ?? one.tailStart
      one.tail = []
    }
  }

  /** Called after each commit of this process, and for each notification. */
  function wake(project: string): void {
    const one = feeds.get(project)
    if (one) pullSoon(one)
  }

  /** For a notification: it names a project by its number. */
  function wakeNumber(number: number): void {
    for (const one of feeds.values()) if (projects.known(one.project) === number) pullSoon(one)
  }

  function wakeAll(): void {
    for (const one of feeds.values()) pullSoon(one)
  }

  /** By a timer: notifications may be lost, and who does not wait now must not be given later what was purged since. */
  function poll(): void {
    wakeAll()
    const idle = [...feeds.values()].filter(one => !one.pulling)
    if (idle.length > 0) forgetPurged(idle).catch(() => undefined)
  }

  async function startOf(project: string, from: string): Promise<Start> {
    const nothing = () => false
    if (from === 'start') return { place: theStart, wasThere: nothing }
    if (from === 'now') {
      const [row] = await database.read<[string]>(sql.snapshot)
      return startAt(row![0])
    }
    const parts = positionParts(from)
    if (parts.epoch !== epoch)
      throw new PositionUnknown(from, 'it is from another store, or from before this one was restored or copied')
    const [end] = await database.read<[number]>(sql.end)
    if (parts.tx >= end![0] + base) throw new PositionUnknown(from, 'it lies beyond the end of this log')
    const number = await projects.find(project)
    if (number !== undefined && parts.check !== '') {
      const [found] = await database.read<[Uint8Array]>(sql.hashAt, [number, parts.tx, parts.n])
      if (found && checkOf(found[0]) !== parts.check) {
        throw new PositionUnknown(from, 'another event stands there now: the store was restored or replaced')
      }
    }
    return { place: { tx: parts.tx, n: parts.n }, wasThere: nothing }
  }

  /** From a snapshot on: what it does not show yet is what comes. */
  function startAt(snapshot: string): Start {
    const [xmin, xmax, running = ''] = snapshot.split(':')
    const underWay = new Set(running.split(',').filter(Boolean).map(Number))
    const end = Number(xmax)
    return {
      place: { tx: Number(xmin) + base, n: -1 },
      wasThere: tx => tx - base < end && !underWay.has(tx - base),
    }
  }

  /** The start is fixed when this is called, not when the first event is asked for. */
  function subscribe(options: SubscribeOptions): AsyncIterableIterator<RecordedEvent> {
    const { project, conversationId, from = 'now', signal } = options
    let ended = false
    let place: Place | undefined
    let wasThere: Start['wasThere'] = () => false
    let ahead: Entry[] = []
    let index = 0
    let seenForgetting = forgettings
    const wakeUps = new Set<() => void>()
    const one = join(project)
    const end = () => {
      if (ended) return
      ended = true
      leave(one)
      signal?.removeEventListener('abort', end)
      for (const wakeUp of wakeUps) wakeUp()
    }
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
    const start = Promise.all([startOf(project, from), one.newestPurge === undefined && forgetPurged([one])]).then(
      ([found]) => {
        place = found.place
        wasThere = found.wasThere
      },
    )
    starting.add(start)
    start.catch(() => undefined).finally(() => starting.delete(start))

    async function next(): Promise<IteratorResult<RecordedEvent, undefined>> {
      try {
        await start
        while (!ended && !closed) {
          if (seenForgetting !== forgettings) {
            // What was read ahead may have been erased since.
            seenForgetting = forgettings
            ahead = []
            index = 0
          }
          const entry = ahead[index++]
          if (entry) {
            if (!isAfter(entry.place, place!)) continue
            place = entry.place
            const isWanted = conversationId === undefined || entry.event.conversationId === conversationId
            if (isWanted && !wasThere(entry.place.tx)) return { done: false, value: entry.event }
            continue
          }
          ahead = []
          index = 0
          const forgettingsBefore = forgettings
          const found = await entriesAfter(one, place!)
          if (forgettings !== forgettingsBefore) continue
          ahead = found
          if (ahead.length === 0 && !ended && !closed) await waitForNews()
        }
      } catch (error) {
        if (closed) return { done: true, value: undefined }
        end()
        throw asStoreError(error, database.place.name)
      }
      end()
      return { done: true, value: undefined }
    }

    function waitForNews(): Promise<void> {
      return new Promise<void>(resolve => {
        const wakeUp = () => {
          wakeUps.delete(wakeUp)
          one.waiting.delete(wakeUp)
          resolve()
        }
        wakeUps.add(wakeUp)
        one.waiting.add(wakeUp)
        if (one.hasNews) pullSoon(one)
      })
    }

    return {
      next,
      async return() {
        end()
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  function join(project: string): ProjectFeed {
    let one = feeds.get(project)
    if (!one) {
      one = {
        project,
        readers: 0,
        tail: [],
        tailStart: undefined,
        waiting: new Set(),
        pulling: undefined,
        hasNews: true,
        newestPurge: undefined,
      }
      feeds.set(project, one)
    }
    one.readers++
    if (!timer) {
      timer = setInterval(poll, pollMs)
      // A subscription alone does not keep a program running.
      timer.unref()
    }
    return one
  }

  function leave(one: ProjectFeed): void {
    if (--one.readers > 0) return
    feeds.delete(one.project)
    if (feeds.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /** The newest event there is, once all that stands before it is there too. */
  async function position(): Promise<string> {
    const [newest] = await database.read<[number, number, Uint8Array, number]>(sql.newest)
    if (!newest) return positionText(epoch, theStart, undefined)
    const [tx, n, hash] = newest
    let gate = newest[3] + base
    while (gate <= tx && !closed) {
      await new Promise(resolve => setTimeout(resolve, heldUp.lookAgainMs))
      gate = (await preciseGate(database.read)) + base
    }
    return positionText(epoch, { tx, n }, hash)
  }

  return {
    wake,
    wakeNumber,
    wakeAll,
    subscribe,
    position,
    forget,
    /** Whether anybody follows anything: only then is it worth listening. */
    hasReaders: () => feeds.size > 0,
    /** Resolves when every subscription knows where it starts; undefined when all do. */
    started: (): Promise<unknown> | undefined => (starting.size === 0 ? undefined : Promise.allSettled([...starting])),
    close(): void {
      closed = true
      clearInterval(timer)
      for (const one of feeds.values()) wakeReaders(one)
    },
  }
}
