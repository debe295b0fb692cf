/**
 * Ordered subscriptions. Each reader is a cursor over positions; new events are read once per process into a short
 * tail that all readers at the end share, and a reader that fell behind the tail reads the file instead.
 *
 * Commits of this process wake readers at once; commits of other processes are noticed by polling `data_version`. Who
 * follows one conversation sleeps until something happens there: a thousand such readers cost what their events cost.
 */
import { setImmediate as breathe, setTimeout as pause } from 'node:timers/promises'
import { PositionUnknown } from '../../../errors.ts'
import type { SubscribeOptions } from '../../../log/event-log.ts'
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import { eventCharacters, feedLimits, isFullPage, pageOfTail, tooManyInTail } from '../../common/feed-limits.ts'
import type { Database } from '../database.ts'
import { asStoreError, isBusy } from '../errors.ts'
import type { HeadStore } from '../heads.ts'
import { checkOf, positionFloor, positionParts, positionText } from '../position.ts'
import { blobLoader, type EventRow, eventColumns, recordedEvent } from '../rows.ts'

interface Entry {
  row: number
  event: RecordedEvent
  /** Characters, near enough. */
  size: number
}

/** What a reader reads at once, and the row up to which nothing else is for it. */
interface Page {
  entries: Entry[]
  upTo: number
}

/** A reader at the end. */
interface Sleeper {
  /** `after` is the row behind which its news begin, where that is known. */
  wake(after?: number): void
  fail(error: Error): void
}

const pollMs = 20
/** A few milliseconds' worth: so many events are looked through at once for those of one conversation. */
const rowsLookedThrough = 10_000

type FeedRow = [...EventRow, conversationId: string, project: string, projectRow: number]

export function feed({ database, heads, epoch }: { database: Database; heads: HeadStore; epoch: () => string }) {
  const feedWhere = (condition: string) => `
    select ${eventColumns}, c.id, p.id, p.project from events e
    join conversations c using (conversation) join projects p using (project)
    where ${condition} order by e.position limit ${feedLimits.page.events}`
  const sql = {
    after: database.prepare(feedWhere('e.position > ?')),
    inConversation: database.prepare(feedWhere('e.position > ? and e.position <= ? and +e.conversation = ?')),
    last: database.prepare('select position, hash from events order by position desc limit 1'),
    hashAt: database.prepare('select hash from events where position = ?'),
    floor: database.prepare(`select ${positionFloor()}`),
    newestPurge: database.prepare('select coalesce(max(purge), 0) from purges'),
  }
  const loadBlob = blobLoader(database)
  /** The newest events in order; `tailStart` is the row the first of them comes after, or infinite if nothing is shared. */
  let tail: Entry[] = []
  let tailStart = 0
  let readers = 0
  let waiting = new Set<Sleeper>()
  /** Those who follow one conversation, by project and conversation. */
  const waitingFor = new Map<string, Set<Sleeper>>()
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let seenGeneration = -1
  /** There may be more than the tail has, although nobody wrote since: the file was busy. */
  let isLate = false
  /** The newest purge that is known, and as of which generation. */
  let purges = { newest: 0, generation: -1 }
  /** Grows whenever content was removed, so that nobody hands out what they read ahead. */
  let forgettings = 0

  function lastRow(): { row: number; hash: Uint8Array | undefined } {
    const [floor] = sql.floor.get() as [number]
    const found = sql.last.get() as [number, Uint8Array] | undefined
    if (!found || found[0] < floor) return { row: floor, hash: undefined }
    return { row: found[0], hash: found[1] }
  }

  function page(after: number): Entry[] {
    return entriesIn(sql.after.iterate(after) as Iterable<FeedRow>)
  }

  /** The next events of one conversation, as far as a moment's looking finds any. */
  function pageOfConversation(after: number, project: string, conversationId: string): Page {
    const end = lastRow().row
    // Another process may have purged the conversation and restored it under another number.
    heads.refresh()
    const conversation = heads.conversationRow(project, conversationId)
    if (conversation === undefined) return { entries: [], upTo: end }
    const upTo = Math.min(end, after + rowsLookedThrough)
    const entries = entriesIn(sql.inConversation.iterate(after, upTo, conversation) as Iterable<FeedRow>)
    return { entries, upTo: isFullPage(entries) ? entries.at(-1)!.row : upTo }
  }

  function entriesIn(rows: Iterable<FeedRow>): Entry[] {
    const entries: Entry[] = []
    let characters = 0
    for (const row of rows) {
      const [conversationId, project, projectRow] = row.slice(-3) as [string, string, number]
      const event = recordedEvent(
        row.slice(0, -3) as EventRow,
        { project, conversationId, epoch: epoch() },
        loadBlob(projectRow),
      )
      const size = eventCharacters(row[11])
      entries.push({ row: row[0], event, size })
      characters += size
      if (characters >= feedLimits.page.characters) break
    }
    return entries
  }

  /** Takes what is new into the tail. One read serves every reader that is at the end. */
  function pull(): void {
    for (;;) {
      const end = tail.at(-1)?.row ?? tailStart
      const fresh = page(end)
      if (fresh.length === 0) break
      for (const { event } of fresh) if (event.event.type === 'message.erased') forget()
      tail.push(...fresh)
      if (waitingFor.size > 0) for (const { event } of fresh) wakeFollowers(event, end)
      const dropped = tooManyInTail(tail)
      if (dropped > 0) {
        tailStart = tail[dropped - 1]!.row
        tail = tail.slice(dropped)
      }
      if (!isFullPage(fresh)) break
    }
  }

  function wakeFollowers({ project, conversationId }: RecordedEvent, after: number): void {
    const key = followedKey(project, conversationId)
    const woken = waitingFor.get(key)
    if (!woken) return
    waitingFor.delete(key)
    for (const sleeper of woken) sleeper.wake(after)
  }

  function stopWaitingFor(key: string, sleeper: Sleeper): void {
    const followers = waitingFor.get(key)
    if (followers?.delete(sleeper) && followers.size === 0) waitingFor.delete(key)
  }

  /** Everybody who waits, and who from now on does no more. */
  function allWaiting(): Sleeper[] {
    const all = [...waiting, ...[...waitingFor.values()].flatMap(followers => [...followers])]
    waiting = new Set()
    waitingFor.clear()
    return all
  }

  function nextPage(row: number, project: string, conversationId: string | undefined): Page {
    if (row < tailStart && conversationId !== undefined) return pageOfConversation(row, project, conversationId)
    const entries = row < tailStart ? page(row) : tailAfter(row)
    return { entries, upTo: entries.at(-1)?.row ?? row }
  }

  function tailAfter(row: number): Entry[] {
    let low = 0
    let high = tail.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (tail[middle]!.row <= row) low = middle + 1
      else high = middle
    }
    return pageOfTail(tail, low)
  }

  /** Drops what is kept in memory: some of it was erased or purged. Readers read the file again. */
  function forget(): void {
    forgettings++
    tailStart = tail.at(-1)?.row ?? tailStart
    tail = []
  }

  /** Another process may have purged what is kept here. */
  function forgetPurged(): void {
    const generation = heads.generation()
    if (generation === purges.generation) return
    const newest = newestPurge()
    if (newest !== purges.newest) forget()
    purges = { newest, generation }
  }

  function newestPurge(): number {
    return (sql.newestPurge.get() as [number])[0]
  }

  /** Called after each commit of this process. */
  function wake(): void {
    if (readers === 0) return
    try {
      if (tailStart === Number.POSITIVE_INFINITY) shareAgain()
      else {
        forgetPurged()
        pull()
      }
      isLate = false
    } catch (error) {
      isLate = isBusy(error)
      if (isLate) return
      tail = []
      tailStart = Number.POSITIVE_INFINITY
    }
    // Where nothing is shared each reader reads for itself, and hears of the damage when it gets there.
    const woken = tailStart === Number.POSITIVE_INFINITY ? allWaiting() : waiting
    waiting = new Set()
    for (const sleeper of woken) sleeper.wake()
  }

  /** After a failure: readers have a tail in common again, from the end on. What comes before it they read for themselves. */
  function shareAgain(): void {
    tailStart = lastRow().row
    for (const sleeper of allWaiting()) sleeper.wake()
  }

  /** Runs by a timer: whatever it throws would end the process. */
  function poll(): void {
    try {
      heads.refresh()
    } catch (error) {
      // Who is busy now is not at the next look.
      if (isBusy(error)) return
      const failure = asStoreError(error, database.path)
      for (const sleeper of allWaiting()) sleeper.fail(failure)
      return
    }
    if (heads.generation() === seenGeneration && !isLate) return
    seenGeneration = heads.generation()
    wake()
  }

  function startingRow(from: string): number {
    if (from === 'start') return 0
    if (from === 'now') return lastRow().row
    const parts = positionParts(from)
    if (parts.epoch !== epoch())
      throw new PositionUnknown(from, 'it is from another store, or from before this one was restored or copied')
    if (parts.row > lastRow().row) throw new PositionUnknown(from, 'it lies beyond the end of this log')
    const found = parts.check === '' ? undefined : (sql.hashAt.get(parts.row) as [Uint8Array] | undefined)
    if (found && checkOf(found[0]) !== parts.check) {
      throw new PositionUnknown(from, 'another event stands there now: the store was restored or replaced')
    }
    return parts.row
  }

  /** The start is fixed when this is called, not when the first event is asked for. */
  function subscribe(options: SubscribeOptions): AsyncIterableIterator<RecordedEvent> {
    const { project, conversationId, from = 'now', signal } = options
    let row = joinAt(from)
    let page: Page = { entries: [], upTo: row }
    let index = 0
    let ended = false
    let seenForgetting = forgettings
    const sleepers = new Set<Sleeper>()
    const end = () => {
      if (ended) return
      ended = true
      leave()
      signal?.removeEventListener('abort', end)
      for (const sleeper of sleepers) sleeper.wake()
    }
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()

    async function next(): Promise<IteratorResult<RecordedEvent, undefined>> {
      while (!ended && !closed) {
        if (seenForgetting !== forgettings) {
          // What was read ahead may have been erased since.
          seenForgetting = forgettings
          page = { entries: [], upTo: row }
          index = 0
        }
        const entry = page.entries[index++]
        if (entry) {
          row = entry.row
          const { event } = entry
          const isWanted = conversationId === undefined || event.conversationId === conversationId
          if (isWanted && event.project === project) return { done: false, value: event }
          continue
        }
        row = Math.max(row, page.upTo)
        const before = row
        try {
          page = nextPage(row, project, conversationId)
          index = 0
          const isBehind = page.entries.length === 0 ? page.upTo > before : isFullPage(page.entries)
          // Whoever catches up keeps nobody waiting.
          if (isBehind) await breathe()
          else if (page.entries.length === 0) await waitForNews()
        } catch (error) {
          // Who is busy now is not at the next look.
          if (isBusy(error)) {
            await pause(pollMs)
            continue
          }
          end()
          throw asStoreError(error, database.path)
        }
      }
      end()
      return { done: true, value: undefined }
    }

    function waitForNews(): Promise<void> {
      return new Promise<void>((resolve, reject) => {
        const key = conversationId === undefined ? undefined : followedKey(project, conversationId)
        const rise = () => {
          sleepers.delete(sleeper)
          if (key === undefined) waiting.delete(sleeper)
          else stopWaitingFor(key, sleeper)
        }
        const sleeper: Sleeper = {
          wake(after) {
            rise()
            // It was at the end, and slept through what was not for it.
            if (after !== undefined) row = Math.max(row, after)
            resolve()
          },
          fail(error) {
            rise()
            reject(error)
          },
        }
        sleepers.add(sleeper)
        if (key === undefined) waiting.add(sleeper)
        else waitingFor.set(key, (waitingFor.get(key) ?? new Set()).add(sleeper))
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

  /** One reader more; gives the row it starts behind. */
  function joinAt(from: string): number {
    try {
      const row = startingRow(from)
      if (readers === 0) shareFromHere()
      readers++
      return row
    } catch (error) {
      throw asStoreError(error, database.path)
    }
  }

  function shareFromHere(): void {
    tail = []
    tailStart = lastRow().row
    purges = { newest: newestPurge(), generation: -1 }
    timer = setInterval(poll, pollMs)
    // A subscription alone does not keep a program running.
    timer.unref()
  }

  function leave(): void {
    if (--readers > 0) return
    clearInterval(timer)
    tail = []
  }

  return {
    wake,
    subscribe,
    position(): string {
      const { row, hash } = lastRow()
      return positionText(epoch(), row, hash)
    },
    lastRow: () => lastRow().row,
    forget,
    close(): void {
      closed = true
      clearInterval(timer)
      for (const sleeper of allWaiting()) sleeper.wake()
    },
  }
}

function followedKey(project: string, conversationId: string): string {
  return `${project}\n${conversationId}`
}
