/** Pages of a project's log in the order of positions, no further than the log is complete. */
import { PositionUnknown } from '../../../errors.ts'
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import { eventCharacters, feedLimits } from '../../common/feed-limits.ts'
import type { Database } from '../database.ts'
import { checkOf, type Place, positionParts, positionText, theStart } from '../position.ts'
import type { Projects } from '../projects.ts'
import { blobsOf, type EventRow, eventColumns, recordedEvent } from '../rows.ts'
import { preciseHorizon, usualHorizon } from './read-horizon.ts'

export interface Entry {
  place: Place
  event: RecordedEvent
  /** Its characters, near enough. */
  size: number
}

/** The place that a reader starts after. Some of the events after it may have been there before already. */
export interface Start {
  place: Place
  wasThere(tx: number): boolean
}

type PageRow = [...EventRow, conversationId: string, before: string | null]

/** The pause before the horizon is looked at again. */
const lookAgainMs = 5

const sql = {
  // Measured in characters, as the tail is: a page that was cut off must not look like the last.
  page: `
    select * from (
      select e.*, sum(length(e.body)) over (order by e.tx, e.n) - length(e.body) as before from (
        select ${eventColumns}, c.id from events e join conversations c using (project, conversation)
        where e.project = $1 and (e.tx, e.n) > ($2, $3) and e.tx < greatest($5::bigint, ${usualHorizon} + $4)
        order by e.tx, e.n limit ${feedLimits.page.events}) e) e
    where coalesce(before, 0) < ${feedLimits.page.characters} order by tx, n`,
  isHeldUp: `select exists (select 1 from events where project = $1 and tx >= ${usualHorizon} + $2)`,
  snapshot: 'select pg_current_snapshot()::text',
  hashAt: 'select hash from events where project = $1 and tx = $2 and n = $3',
  newestPurges: `
    select p.id, (select max(purge) from purges where project = p.project) from projects p where p.id = any($1::text[])`,
  end: 'select pg_snapshot_xmax(pg_current_snapshot())::text::bigint',
  newest: `
    select e.tx, e.n, e.hash, ${usualHorizon} from projects p cross join lateral (
      select tx, n, hash from events where project = p.project order by tx desc, n desc limit 1) e
    order by e.tx desc, e.n desc limit 1`,
}

export class LogPages {
  readonly #database: Database
  readonly #projects: Projects
  readonly #epoch: string
  readonly #base: number

  constructor({
    database,
    projects,
    epoch,
    base,
  }: { database: Database; projects: Projects; epoch: string; base: number }) {
    this.#database = database
    this.#projects = projects
    this.#epoch = epoch
    this.#base = base
  }

  /** Events after a place, as far as the usual horizon, or up to the transaction that the caller knows to be complete. */
  async after(project: string, place: Place, completeBelow = 0): Promise<Entry[]> {
    const { read } = this.#database
    const number = await this.#projects.find(project)
    if (number === undefined) return []
    const rows = await read<PageRow>(sql.page, [number, place.tx, place.n, this.#base, completeBelow])
    const load = await blobsOf(
      read,
      number,
      rows.map(row => row[11]),
    )
    return rows.map(row => {
      const conversationId = row[13] as string
      const at = { project, conversationId, epoch: this.#epoch }
      const event = recordedEvent(row.slice(0, -2) as EventRow, at, load)
      return { place: { tx: row[0], n: row[1] }, event, size: eventCharacters(row[11]) }
    })
  }

  /** Events after a place that wait only because of transactions that do not write events. */
  async pastIdleTransactions(project: string, place: Place): Promise<Entry[]> {
    return this.after(project, place, this.#base + (await preciseHorizon(this.#database.read)))
  }

  /** True when events of the project lie beyond the usual horizon. */
  async isHeldUp(project: string): Promise<boolean> {
    const number = await this.#projects.find(project)
    if (number === undefined) return false
    const [row] = await this.#database.read<[boolean]>(sql.isHeldUp, [number, this.#base])
    return row![0]
  }

  /** The newest purge of each project that is there; null where there was none. */
  async newestPurges(projects: readonly string[]): Promise<Array<[project: string, purge: number | null]>> {
    return this.#database.read<[string, number | null]>(sql.newestPurges, [projects])
  }

  /** @throws {PositionUnknown} when `from` is not a position of this store */
  async startOf(project: string, from: string): Promise<Start> {
    const { read } = this.#database
    const wasThere = () => false
    if (from === 'start') return { place: theStart, wasThere }
    if (from === 'now') {
      const [row] = await read<[string]>(sql.snapshot)
      return this.#startAt(row![0])
    }
    const { epoch, tx, n, check } = positionParts(from)
    if (epoch !== this.#epoch) {
      throw new PositionUnknown(from, 'it is from another store, or from before this one was restored or copied')
    }
    const [end] = await read<[number]>(sql.end)
    if (tx >= end![0] + this.#base) throw new PositionUnknown(from, 'it lies beyond the end of this log')
    const number = await this.#projects.find(project)
    if (number !== undefined && check !== '') {
      const [found] = await read<[Uint8Array]>(sql.hashAt, [number, tx, n])
      if (found && checkOf(found[0]) !== check) {
        throw new PositionUnknown(from, 'another event stands there now: the store was restored or replaced')
      }
    }
    return { place: { tx, n }, wasThere }
  }

  /** A reader that starts at a snapshot gets what the snapshot does not show yet. */
  #startAt(snapshot: string): Start {
    const [xmin, xmax, running = ''] = snapshot.split(':')
    const underWay = new Set(running.split(',').filter(Boolean).map(Number))
    const end = Number(xmax)
    return {
      place: { tx: Number(xmin) + this.#base, n: -1 },
      wasThere: tx => tx - this.#base < end && !underWay.has(tx - this.#base),
    }
  }

  /** The position of the newest event, once every event before it is there too. */
  async newestPosition(isClosed: () => boolean): Promise<string> {
    const { read } = this.#database
    const [newest] = await read<[number, number, Uint8Array, number]>(sql.newest)
    if (!newest) return positionText(this.#epoch, theStart, undefined)
    const [tx, n, hash] = newest
    let horizon = newest[3] + this.#base
    while (horizon <= tx && !isClosed()) {
      await new Promise(resolve => setTimeout(resolve, lookAgainMs))
      horizon = (await preciseHorizon(read)) + this.#base
    }
    return positionText(this.#epoch, { tx, n }, hash)
  }
}
