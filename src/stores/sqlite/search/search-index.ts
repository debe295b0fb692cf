/**
 * The index: a file of its own, fed from the log after the commits. It holds words and places of messages, landmarks, and
 * sums of what was spent.
 *
 * It is not part of the log's file because indexing would triple what an append writes, and hold the log's write lock. It
 * holds no text, knows how far it has read, and can be deleted at any time: it is built again from the log. Several
 * processes feed the same index, one at a time under its lock.
 */
import { setImmediate as breathe } from 'node:timers/promises'
import type { Landmark } from '../../../log/directory.ts'
import { idProblem } from '../../../log/events/id.ts'
import type { UpkeepInput } from '../../../log/upkeep-work.ts'
import type { Database } from '../database.ts'
import type { Statement } from '../statement.ts'
import { inTransaction } from '../transaction.ts'
import { type Landmarks, landmarkKeeper } from '../upkeep/landmarks.ts'
import { type SpendingKeeper, spendingKeeper } from '../upkeep/spending.ts'

import { AttachedLog } from './attached-log.ts'
import { IndexEntries } from './index-entries.ts'
import { messageNumber } from './message-number.ts'
import { searchRemovals } from './search-removals.ts'
import { startOver } from './search-tables.ts'

/** The pages that one merging step may write: up to 50 ms of the worker's time. */
const pagesPerMerge = 200

/** Entries of the table `meta`: the progress of the index in the log. */
type Progress = 'position' | 'check' | 'generation' | 'purges'

type StatementName = 'meta' | 'putMeta' | 'merge' | 'changes' | 'byMessage' | 'size'

export class SearchIndex {
  /** Connected to the index, with the log attached as `log`. */
  readonly database: Database
  readonly spending: SpendingKeeper
  readonly #log: AttachedLog
  readonly #landmarks: Landmarks
  readonly #entries: IndexEntries
  readonly #removals: ReturnType<typeof searchRemovals>
  readonly #sql: Record<StatementName, Statement>
  /** The making of the tables that the cached names are of. */
  #generation: string | undefined

  readonly #onClose: () => void

  /** Takes a connection to the index's tables, with the log attached as `log`. */
  constructor(database: Database, logPath: string, onClose: () => void) {
    this.database = database
    this.#onClose = onClose
    this.#landmarks = landmarkKeeper(database)
    this.spending = spendingKeeper(database)
    this.#log = new AttachedLog(database, logPath)
    this.#entries = new IndexEntries(database)
    this.#removals = searchRemovals({
      database,
      landmarks: this.#landmarks,
      spending: this.spending,
      messageAt: position => this.#log.messageAt(position),
      nobody: () => this.#entries.numberOf(''),
    })
    this.#sql = {
      meta: database.prepare('select value from meta where name = ?'),
      putMeta: database.prepare('insert or replace into meta (name, value) values (?, ?)'),
      merge: database.prepare(`insert into words (words, rank) values ('merge', ?)`),
      changes: database.prepare('select total_changes()'),
      byMessage: database.prepare('select position from docs where message = ?'),
      size: database.prepare('select count(*) from docs'),
    }
  }

  /**
   * True when the newest event that was indexed is still in the log. A log put back from a backup has another one there;
   * then the next feed builds the index again.
   */
  isOfThisLog(): boolean {
    const position = Number(this.#progress('position'))
    if (position > this.#log.end()) return false
    const check = this.#progress('check')
    const hash = this.#log.hashAt(position)
    return hash === undefined || check === undefined || hash === check
  }

  /** Indexes one batch in a short transaction. Returns true when that was all the log has. */
  takeBatch(): boolean {
    let tookAll = false
    this.#entries.beginBatch()
    this.#change(() => {
      this.#forgetOtherGeneration()
      if (!this.isOfThisLog() || this.#missedPurge()) this.#empty()
      tookAll = this.#takeRows()
    })
    return tookAll
  }

  /** Indexes everything the log has by now. */
  async feed(): Promise<undefined> {
    while (!this.takeBatch()) await breathe()
    return undefined
  }

  /**
   * Merges some of the lists of words: a search reads each of them. Returns false when there was nothing to merge.
   */
  tidy(): boolean {
    const changes = () => (this.#sql.changes.get() as [number])[0]
    const before = changes()
    this.#change(() => this.#sql.merge.run(pagesPerMerge))
    // The command itself is one change.
    return changes() - before > 1
  }

  /** Positions of the messages with an id: one, unless callers use the same id in several projects. */
  find(messageId: string): number[] {
    if (idProblem(messageId)) return []
    return (this.#sql.byMessage.all(messageNumber(messageId)) as Array<[number]>).map(([position]) => position)
  }

  /** Notes the words of a message that is about to be erased, so that they are removed when the log says that it was. */
  expectErase(position: number): void {
    this.#change(() => this.#removals.expectErase(position))
  }

  /** Drops the note of a message that was not erased after all. */
  callOffErase(position: number): void {
    this.#change(() => this.#removals.callOffErase(position))
  }

  /**
   * Removes a conversation from the index and, by `removeFromLog`, from the log: both, or neither. It waits for the log's
   * own connection only, so no other work of this thread comes between.
   */
  async forgetConversation(conversation: number, removeFromLog: () => Promise<{ purge: number }>): Promise<void> {
    this.database.exec('begin immediate')
    try {
      if (!this.#removals.removeConversation(conversation, () => this.size())) this.#empty()
      const { purge } = await removeFromLog()
      // The next feed should notice any other purge. This transaction still sees the log as it was before.
      if (this.#log.lastPurge() === purge - 1 && !this.#missedPurge()) this.#putProgress('purges', String(purge))
      this.database.exec('commit')
    } catch (error) {
      this.database.rollback()
      this.#dropCaches()
      throw error
    }
  }

  /** Empties the index. The next feed builds it again. */
  startOver(): void {
    this.#change(() => this.#empty())
  }

  /** The number of messages in the index. */
  size(): number {
    return (this.#sql.size.get() as [number])[0]
  }

  /** The newest landmark of a conversation at a version or before it. */
  landmark({ project, conversationId, version }: UpkeepInput<'landmark'>): Landmark | undefined {
    if (idProblem(conversationId)) return undefined
    const conversation = this.#log.conversationOf(project, conversationId)
    return conversation === undefined ? undefined : this.#landmarks.find(conversation, version)
  }

  close(): void {
    this.database.close()
    this.#onClose()
  }

  /** Returns true when the log has no more rows. An erased message that cannot be taken out empties the index. */
  #takeRows(): boolean {
    const { rows, isAll } = this.#log.rowsAfter(Number(this.#progress('position')))
    for (const row of rows) {
      const [, conversation, version] = row
      const project = this.#log.projectOf(conversation)
      if (project === undefined) continue
      const event = this.#log.eventOf(row, project)
      this.spending.take(conversation, event)
      if (event.type === 'message.erased') {
        this.#entries.forgetParticipants(conversation)
        if (!this.#removals.followErase({ project, conversation, version: event.version })) {
          this.spending.drop()
          this.#empty()
          return false
        }
      } else this.#entries.take(row, project, event)
      this.#landmarks.pass(conversation, version)
    }
    this.#entries.endBatch()
    this.spending.flush()
    const last = rows.at(-1)
    if (last) {
      this.#putProgress('position', String(last[0]))
      this.#putProgress('check', this.#log.hashAt(last[0])!)
    }
    if (this.#progress('purges') === undefined) this.#putProgress('purges', String(this.#log.lastPurge()))
    return isAll
  }

  /** True when a purge did not remove its words from the index: its process was killed. */
  #missedPurge(): boolean {
    const purges = this.#progress('purges')
    return purges !== undefined && Number(purges) !== this.#log.lastPurge()
  }

  /** Another process may have made the tables again, with other numbers for names. */
  #forgetOtherGeneration(): void {
    const generation = this.#progress('generation') ?? ''
    if (generation !== this.#generation) this.#entries.forgetNames()
    this.#generation = generation
  }

  #empty(): void {
    startOver(this.database)
    this.#putProgress('purges', String(this.#log.lastPurge()))
    this.#entries.forgetNames()
    this.#log.forgetProjects()
  }

  #progress(name: Progress): string | undefined {
    return (this.#sql.meta.get(name) as [string] | undefined)?.[0]
  }

  #putProgress(name: Progress, value: string): void {
    this.#sql.putMeta.run(name, value)
  }

  #change(work: () => void): void {
    try {
      inTransaction(this.database, work)
    } catch (error) {
      this.#dropCaches()
      throw error
    }
  }

  #dropCaches(): void {
    this.#entries.forgetNames()
    this.spending.drop()
  }
}
