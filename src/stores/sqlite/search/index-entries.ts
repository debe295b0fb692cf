/** Writes the entries of events into the tables of the index. Each call runs within a transaction of the index. */

import type { StoredEvent } from '../../../log/events/event.ts'
import type { MessageAdded } from '../../../log/events/message.ts'
import { searchableText, splitScript } from '../../common/search-text/searchable.ts'
import type { Database } from '../database.ts'
import type { Statement } from '../statement.ts'
import type { LogRow } from './attached-log.ts'
import { messageNumber } from './message-number.ts'
import { marksOf } from './place-marks.ts'

const maxCachedNames = 10_000

type StatementName =
  | 'findName'
  | 'insertName'
  | 'insertDoc'
  | 'insertWords'
  | 'putTitle'
  | 'phase'
  | 'putPhase'
  | 'putParticipant'

export class IndexEntries {
  readonly #sql: Record<StatementName, Statement>
  readonly #names = new Map<string, number>()
  /** Phases and participants as far as they were read or written in this batch. */
  readonly #phases = new Map<number, number | null>()
  readonly #participants = new Map<number, Set<number>>()
  /** Words go in together at the end of a batch: alternating between tables is slower. */
  #texts: Array<[position: number, text: string, place: string]> = []

  constructor(database: Database) {
    this.#sql = {
      findName: database.prepare('select name from names where text = ?'),
      insertName: database.prepare('insert into names (text) values (?)'),
      insertDoc: database.prepare(`
        insert into docs (position, project, conversation, version, lane, at, author, role, phase, message)
        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
      insertWords: database.prepare('insert into words (rowid, text, place) values (?, ?, ?)'),
      putTitle: database.prepare('insert or replace into titles (rowid, title) values (?, ?)'),
      phase: database.prepare('select phase from phases where conversation = ?'),
      putPhase: database.prepare('insert or replace into phases (conversation, phase) values (?, ?)'),
      putParticipant: database.prepare('insert or ignore into participants (conversation, name) values (?, ?)'),
    }
  }

  beginBatch(): void {
    this.#texts = []
    this.#phases.clear()
    this.#participants.clear()
  }

  /** Writes the words of the batch. */
  endBatch(): void {
    for (const text of this.#texts) this.#sql.insertWords.run(...text)
    this.#texts = []
  }

  forgetNames(): void {
    this.#names.clear()
  }

  numberOf(name: string): number {
    const cached = this.#names.get(name)
    if (cached !== undefined) return cached
    const row = this.#sql.findName.get(name) as [number] | undefined
    const number = row ? row[0] : Number(this.#sql.insertName.run(name).lastInsertRowid)
    if (this.#names.size > maxCachedNames) this.#names.clear()
    this.#names.set(name, number)
    return number
  }

  /** Takes every event but an erasing one, which is for `search-removals.ts`. */
  take(row: LogRow, project: number, event: StoredEvent): void {
    const conversation = row[1]
    switch (event.type) {
      case 'message.added':
        this.#takeMessage(row, project, event)
        break
      case 'erased':
      case 'damaged':
      case 'unknown':
        this.#takeMissing(row, project)
        break
      case 'conversation.created':
        this.#sql.putTitle.run(conversation, splitScript(event.title))
        this.#takePhase(conversation, event.phase ?? event.inherits?.phase)
        break
      case 'phase.changed':
        this.#takePhase(conversation, event.to)
        break
      case 'conversation.annotated':
        if (event.title !== undefined) this.#sql.putTitle.run(conversation, splitScript(event.title))
        break
      default:
    }
  }

  /** The participants of a conversation are read again: one may have left with an erased message. */
  forgetParticipants(conversation: number): void {
    this.#participants.delete(conversation)
  }

  #takeMessage(row: LogRow, project: number, event: MessageAdded): void {
    const [position, conversation, , , , , , lane] = row
    if (lane === null) return
    const author = this.numberOf(event.author)
    const phase = this.#phaseOf(conversation)
    this.#insertDoc(row, project, { lane, author, role: this.numberOf(event.role), phase, id: event.messageId })
    this.#texts.push([position, searchableText(event.parts), marksOf(project, conversation)])
    this.#takeParticipant(conversation, author)
  }

  /** A message without readable content can still be found by its id. */
  #takeMissing(row: LogRow, project: number): void {
    const [, , , , , , message, lane] = row
    if (lane === null || message === null) return
    const nobody = this.numberOf('')
    this.#insertDoc(row, project, { lane, author: nobody, role: nobody, phase: null, id: message })
  }

  #insertDoc(
    [position, conversation, version, , , at]: LogRow,
    project: number,
    message: { lane: number; author: number; role: number; phase: number | null; id: string },
  ): void {
    const { lane, author, role, phase, id } = message
    const number = messageNumber(id)
    this.#sql.insertDoc.run(position, project, conversation, version, lane, at, author, role, phase, number)
  }

  #phaseOf(conversation: number): number | null {
    const cached = this.#phases.get(conversation)
    if (cached !== undefined) return cached
    const row = this.#sql.phase.get(conversation) as [string] | undefined
    const phase = row ? this.numberOf(row[0]) : null
    this.#phases.set(conversation, phase)
    return phase
  }

  #takePhase(conversation: number, phase: unknown): void {
    if (typeof phase !== 'string') return
    this.#sql.putPhase.run(conversation, phase)
    this.#phases.delete(conversation)
  }

  #takeParticipant(conversation: number, name: number): void {
    const cached = this.#participants.get(conversation) ?? new Set()
    if (cached.has(name)) return
    this.#participants.set(conversation, cached.add(name))
    this.#sql.putParticipant.run(conversation, name)
  }
}
