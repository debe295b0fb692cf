/**
 * The index: a file of its own beside the log, fed from it behind the commits. Words above all; also landmarks, and sums of
 * what was spent.
 *
 * Apart from the log because indexing would triple what an append writes, and would hold the log's write lock. It holds
 * words and places but no text, knows how far it has read, and can be deleted at any time: it is built again from the
 * log. Several processes feed the same index; the lock on it makes them take turns.
 */
import { setImmediate as breathe } from 'node:timers/promises'
import type { StoredEvent } from '../../../log/events/event.ts'
import { idProblem } from '../../../log/events/id.ts'
import type { MessageAdded } from '../../../log/events/message.ts'
import { eventIn } from '../../../log/records/stored-row.ts'
import { searchableText, splitScript } from '../../common/search-text/searchable.ts'
import type { Database } from '../database.ts'
import { damaged } from '../errors.ts'
import { lastPosition } from '../position.ts'
import { blobLoader } from '../rows.ts'
import { inTransaction } from '../transaction.ts'
import { type Landmarks, landmarkKeeper } from '../upkeep/landmarks.ts'
import { type SpendingKeeper, spendingKeeper } from '../upkeep/spending.ts'
import { messageNumber } from './message-number.ts'
import { marksOf } from './place-marks.ts'
import { searchRemovals } from './search-removals.ts'
import { startOver } from './search-tables.ts'

export interface SearchIndex {
  /** Connected to the index, with the log attached as `log`. */
  database: Database
  landmarks: Pick<Landmarks, 'find'>
  spending: Pick<SpendingKeeper, 'ofProject' | 'ofConversations'>
  /** False when the log is another one than was taken in: a backup was put back. The next feed starts over. */
  isOfThisLog(): boolean
  /** Takes in what makes a batch, in one short transaction. Gives whether that was all there is. */
  takeBatch(): boolean
  /** Takes in everything the log has by now. */
  feed(): Promise<undefined>
  /**
   * Puts some of the lists of words together, because a search looks through each of them: with 2 in place of 16, one for
   * two words takes a third of the time. Gives whether it did anything.
   */
  tidy(): boolean
  /** Where the messages of an id stand: one place, but for ids that callers made and used in several projects. */
  find(messageId: string): number[]
  /** A message is about to be erased: leaves what must be taken out when the log says that it was. */
  expectErase(position: number): void
  /** It was not erased after all. */
  callOffErase(position: number): void
  /** Takes out everything of a conversation, and has it removed from the log: both, or neither. */
  forgetConversation(conversation: number, removeFromLog: () => Promise<{ purge: number }>): Promise<void>
  /** Builds everything again at the next feed. */
  startOver(): void
  /** How many messages it has. */
  size(): number
  close(): void
}

/** The more at once, the fewer pages are written for each; so many keep the worker from others for some 70 ms. */
const batch = { events: 2000, characters: 1_000_000 }
/** Read at a time, so that what is long does not fill the memory. */
const eventsPerRead = 250
/** What one step of putting lists together may write: up to 50 ms of the worker's time. */
const pagesPerStep = 200

/** Of names and of conversations' projects. */
const mostKnown = 10_000

type FeedRow = [
  position: number,
  conversation: number,
  version: number,
  type: string,
  schema: number,
  at: number,
  message: string | null,
  lane: number | null,
  crc: number,
  body: string | null,
]

/** A message's words, and where it stands. */
type Text = [position: number, text: string, place: string]

const rowColumns = 'position, conversation, version, type, schema, at, message, lane, crc, body'

/** Over a connection to the index's tables, with the log attached as `log`. */
export function searchIndex(database: Database, logPath: string): SearchIndex {
  const sql = {
    position: database.prepare(`select value from meta where name = 'position'`),
    moveOn: database.prepare('insert or replace into meta (name, value) values (?, ?)'),
    events: database.prepare(`
      select ${rowColumns} from log.events where position > ? order by position limit ${eventsPerRead}`),
    project: database.prepare('select project from log.conversations where conversation = ?'),
    name: database.prepare('select name from names where text = ?'),
    insertName: database.prepare('insert into names (text) values (?)'),
    insertDoc: database.prepare(`
      insert into docs (position, project, conversation, version, lane, at, author, role, phase, message)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    insertWords: database.prepare('insert into words (rowid, text, place) values (?, ?, ?)'),
    merge: database.prepare(`insert into words (words, rank) values ('merge', ?)`),
    changes: database.prepare('select total_changes()'),
    byMessage: database.prepare('select position from docs where message = ?'),
    body: database.prepare(`select ${rowColumns} from log.events where position = ?`),
    size: database.prepare('select count(*) from docs'),
    putTitle: database.prepare('insert or replace into titles (rowid, title) values (?, ?)'),
    putParticipant: database.prepare('insert or ignore into participants (conversation, name) values (?, ?)'),
    hashAt: database.prepare('select hash from log.events where position = ?'),
    end: database.prepare(`select ${lastPosition('log')}`),
    check: database.prepare(`select value from meta where name = 'check'`),
    generation: database.prepare(`select value from meta where name = 'generation'`),
    knownPurges: database.prepare(`select value from meta where name = 'purges'`),
    purges: database.prepare('select coalesce(max(purge), 0) from log.purges'),
    phase: database.prepare('select phase from phases where conversation = ?'),
    putPhase: database.prepare('insert or replace into phases (conversation, phase) values (?, ?)'),
  }
  const blobs = blobLoader(database)
  const names = new Map<string, number>()
  /** A conversation never changes its project, and its number is never given to another. */
  const projects = new Map<number, number>()
  /** What is known of phases and participants within one transaction. */
  const phases = new Map<number, number | null>()
  const participants = new Map<number, Set<number>>()

  function phaseOf(conversation: number): number | null {
    let name = phases.get(conversation)
    if (name === undefined) {
      const phase = sql.phase.get(conversation) as [string] | undefined
      name = phase ? nameOf(phase[0]) : null
      phases.set(conversation, name)
    }
    return name
  }

  function takeParticipant(conversation: number, name: number): void {
    const known = participants.get(conversation) ?? new Set()
    if (known.has(name)) return
    participants.set(conversation, known.add(name))
    sql.putParticipant.putLater(conversation, name)
  }
  const landmarks = landmarkKeeper(database)
  const spending = spendingKeeper(database)
  const removals = searchRemovals({ database, landmarks, spending, messageAt, nobody: () => nameOf('') })
  /** Which making of the tables what is kept here is of. */
  let generation: string | undefined

  function nameOf(text: string): number {
    const known = names.get(text)
    if (known !== undefined) return known
    const found = sql.name.get(text) as [number] | undefined
    const name = found ? found[0] : Number(sql.insertName.run(text).lastInsertRowid)
    if (names.size > mostKnown) names.clear()
    names.set(text, name)
    return name
  }

  /** The message at a position, as long as its content is in the log. */
  function messageAt(position: number): { place: string; event: MessageAdded } | undefined {
    const row = sql.body.get(position) as FeedRow | undefined
    const project = row && projectOf(row[1])
    if (!row || project === undefined) return undefined
    const event = storedEvent(row, project)
    return event.type === 'message.added' ? { place: marksOf(project, row[1]), event } : undefined
  }

  /** Undefined for a conversation that is not there: nothing of it can be shown. */
  function projectOf(conversation: number): number | undefined {
    const known = projects.get(conversation)
    if (known !== undefined) return known
    const found = sql.project.get(conversation) as [number] | undefined
    if (!found) return undefined
    if (projects.size > mostKnown) projects.clear()
    projects.set(conversation, found[0])
    return found[0]
  }

  function storedEvent(row: FeedRow, project: number): StoredEvent {
    const [, , version, type, schema, at, message, lane, crc, body] = row
    return eventIn({ version, at, lane, type, schema, message, crc, body }, blobs(project))
  }

  /** Leaves the text of a message in `texts`. Gives false if the index has to be built again. */
  function take(row: FeedRow, project: number, texts: Text[]): boolean {
    const [position, conversation, version, , , at, message, lane] = row
    const event = storedEvent(row, project)
    spending.take(conversation, event)
    switch (event.type) {
      case 'message.added': {
        if (lane === null) return true
        const author = nameOf(event.author)
        const phaseName = phaseOf(conversation)
        sql.insertDoc.putLater(
          position,
          project,
          conversation,
          version,
          lane,
          at,
          author,
          nameOf(event.role),
          phaseName,
          messageNumber(event.messageId),
        )
        texts.push([position, searchableText(event.parts), marksOf(project, conversation)])
        takeParticipant(conversation, author)
        return true
      }
      case 'erased':
      case 'damaged':
      case 'unknown':
        // It keeps its place, so that it can still be found by its id; its words are gone, or not known.
        if (lane !== null && message !== null) {
          sql.insertDoc.putLater(
            position,
            project,
            conversation,
            version,
            lane,
            at,
            nameOf(''),
            nameOf(''),
            null,
            messageNumber(message),
          )
        }
        return true
      case 'message.erased':
        participants.delete(conversation)
        return removals.followErase({ project, conversation, version: event.version })
      case 'conversation.created':
        sql.putTitle.run(conversation, splitScript(event.title))
        takePhase(conversation, event.phase ?? event.inherits?.phase)
        return true
      case 'phase.changed':
        takePhase(conversation, event.to)
        return true
      case 'conversation.annotated':
        if (event.title !== undefined) sql.putTitle.run(conversation, splitScript(event.title))
        return true
      default:
        return true
    }
  }

  function takePhase(conversation: number, phase: unknown): void {
    if (typeof phase !== 'string') return
    sql.putPhase.run(conversation, phase)
    phases.delete(conversation)
  }

  /**
   * Whether what was taken in last still stands there. A log put back from a backup goes on differently behind the
   * place it was copied at.
   */
  function isOfThisLog(): boolean {
    const [position] = sql.position.get() as [string]
    const check = sql.check.get() as [string] | undefined
    const [end] = sql.end.get() as [number]
    if (Number(position) > end) return false
    const found = sql.hashAt.get(Number(position)) as [Uint8Array] | undefined
    return !found || !check || Buffer.from(found[0]).toString('hex') === check[0]
  }

  /** As many as make a batch, or what there is. */
  function rowsAfter(position: number): { rows: FeedRow[]; isAll: boolean } {
    const rows: FeedRow[] = []
    let last = position
    let characters = 0
    while (rows.length < batch.events && characters < batch.characters) {
      const some = sql.events.all(last) as FeedRow[]
      for (const row of some) {
        // In a damaged tree what comes next may lie before: going on from there would go round in circles.
        if (row[0] <= last) throw damaged(logPath, `positions out of order behind ${last}`)
        last = row[0]
        rows.push(row)
        characters += row[9]?.length ?? 0
      }
      if (some.length < eventsPerRead) return { rows, isAll: true }
    }
    return { rows, isAll: false }
  }

  /** Whether a conversation was purged whose words nobody took out: the one who purged it was cut off. */
  function missedPurge(): boolean {
    const known = sql.knownPurges.get() as [string] | undefined
    return known !== undefined && Number(known[0]) !== lastPurge()
  }

  const lastPurge = () => (sql.purges.get() as [number])[0]

  /** Another process may have made the tables anew: their names have other numbers now. */
  function dropOfOtherGeneration(): void {
    const [found] = (sql.generation.get() as [string] | undefined) ?? ['']
    if (found !== generation) names.clear()
    generation = found
  }

  function takeBatch(): boolean {
    let tookAll = false
    phases.clear()
    participants.clear()
    change(() => {
      dropOfOtherGeneration()
      if (!isOfThisLog() || missedPurge()) beginAnew()
      const [position] = sql.position.get() as [string]
      const { rows, isAll } = rowsAfter(Number(position))
      // Put in together, as are the rows beside them: in turn both would take a tenth longer.
      const texts: Text[] = []
      for (const row of rows) {
        const project = projectOf(row[1])
        if (project === undefined) continue
        if (!take(row, project, texts)) {
          spending.drop()
          beginAnew()
          return
        }
        landmarks.pass(row[1], row[2])
      }
      for (const text of texts) sql.insertWords.put(...text)
      spending.flush()
      const last = rows.at(-1)
      if (last) {
        sql.moveOn.run('position', String(last[0]))
        const [hash] = sql.hashAt.get(last[0]) as [Uint8Array]
        sql.moveOn.run('check', Buffer.from(hash).toString('hex'))
      }
      if (!sql.knownPurges.get()) sql.moveOn.run('purges', String(lastPurge()))
      tookAll = isAll
    })
    return tookAll
  }

  function beginAnew(): void {
    startOver(database)
    sql.moveOn.run('purges', String(lastPurge()))
    names.clear()
    projects.clear()
  }

  const size = () => (sql.size.get() as [number])[0]

  function change(work: () => void): void {
    try {
      inTransaction(database, work)
    } catch (error) {
      names.clear()
      spending.drop()
      throw error
    }
  }

  return {
    database,
    landmarks,
    spending,
    isOfThisLog,
    takeBatch,
    async feed() {
      while (!takeBatch()) await breathe()
      return undefined
    },
    tidy() {
      const changes = () => (sql.changes.get() as [number])[0]
      const before = changes()
      change(() => sql.merge.put(pagesPerStep))
      // The command itself is one change.
      return changes() - before > 1
    },
    find: messageId =>
      idProblem(messageId)
        ? []
        : (sql.byMessage.all(messageNumber(messageId)) as Array<[number]>).map(([position]) => position),
    expectErase: position => change(() => removals.expectErase(position)),
    callOffErase: position => change(() => removals.callOffErase(position)),
    /** Waits for nothing but the log's own connection, so nothing else of this thread comes between. */
    async forgetConversation(conversation, removeFromLog) {
      database.exec('begin immediate')
      try {
        if (!removals.tookOut(conversation, size)) beginAnew()
        const { purge } = await removeFromLog()
        // Any other that is not known yet, the next feed should notice. This transaction sees the log as it was before.
        if (lastPurge() === purge - 1 && !missedPurge()) sql.moveOn.run('purges', String(purge))
        database.exec('commit')
      } catch (error) {
        database.rollback()
        names.clear()
        spending.drop()
        throw error
      }
    },
    startOver() {
      change(beginAnew)
    },
    size,
    close: () => database.close(),
  }
}
