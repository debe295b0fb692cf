/**
 * The operations of upkeep, each with plain data in and out, so that a store may run them in a worker. `upkeep/` has
 * their code.
 */
import type { AuditEntry, AuditQuery, ProjectSpending, Spending } from './accounts.ts'
import type { ArchivableQuery, Landmark, Listed, ProjectTotals } from './directory.ts'
import type { Origin } from './events/recorded-event.ts'
import type { Copies } from './records/erased-copies.ts'
import type { LaneSums } from './records/lane.ts'
import type { ConversationPlace, KeyRow, PurgeRow, RowPage } from './rows.ts'
import type { Erased, Progress, Purged, PurgedConversation, RepairReport, VerifyReport } from './upkeep.ts'

export interface EraseInput extends ConversationPlace {
  message: { id: string; version: number }
  /** Milliseconds. */
  now: number
  reason?: string
  origin: Origin
  copies?: Copies
}

export interface PurgeInput extends ConversationPlace {
  archive: string
  /** The hash of its newest event when the archive was written, as base64. */
  hash: string
  /** Milliseconds. */
  now: number
  reason?: string
  origin: Origin
}

/** State of an export between two pages. */
export interface ExportCursor {
  last: number
  /** Fixed by the first page: what is appended meanwhile is not exported. */
  upTo: number
  /** The sums of each lane up to there. */
  sums: Array<[lane: number, LaneSums]>
}

export interface ExportedPage {
  lines: string[]
  /** Absent on the last page. */
  next?: ExportCursor
}

export interface RestorePage {
  /** The same for all pages of one archive. */
  ticket: string
  project: string
  lines: string[]
  isLast: boolean
  /** Milliseconds. */
  now: number
}

export interface SessionUse extends ConversationPlace {
  sessionId: string
  /** Milliseconds. */
  usedAt: number
}

export interface ConversationEnd {
  conversationId: string
  events: number
  /** The hash of its newest event, as base64. */
  hash: string
}

/** The input and the result of each operation. */
export interface UpkeepWork {
  verify: [input: { project?: string }, result: VerifyReport]
  repair: [input: { project?: string }, result: RepairReport]
  erase: [input: EraseInput, result: Erased]
  rewrite: [input: EraseInput, result: string[]]
  /** Undefined when there is no such conversation. */
  exportPage: [input: ConversationPlace & { cursor?: ExportCursor | undefined }, result: ExportedPage | undefined]
  /** A conversation that branches hang on cannot be purged. */
  refuseWithBranches: [input: ConversationPlace, result: undefined]
  purge: [input: PurgeInput, result: Pick<Purged, 'events' | 'lingers'>]
  purges: [input: { project: string }, result: PurgedConversation[]]
  /** Finishes a removal whose process died right behind it: nothing that was removed may linger. */
  finishRemoval: [input: undefined, result: undefined]
  /** Returns the id of the conversation with its last page. */
  restorePage: [input: RestorePage, result: string | undefined]
  /** Drops the pages of a restore that will not be completed. */
  abandonRestore: [input: { ticket: string }, result: undefined]
  audit: [input: AuditQuery, result: Listed<AuditEntry>]
  totals: [input: { project: string }, result: ProjectTotals]
  /** The conversations of a project, in the order they were created in. */
  conversationEnds: [input: { project: string }, result: ConversationEnd[]]
  /** The ids of conversations that look due for archiving, in the order of their ids. */
  archivable: [input: ArchivableQuery, result: Listed<string>]
  /** Moves the stored expiry of a session to the one that follows from its last use. */
  noteUse: [input: SessionUse, result: undefined]
  /** `Directory.landmark` and `Accounts.spending` say what these return. Undefined in a store that keeps none. */
  landmark: [input: ConversationPlace & { version: number }, result: Landmark | undefined]
  spending: [input: { project: string }, result: ProjectSpending | undefined]
  spendingOf: [
    input: { project: string; conversationIds: readonly string[] },
    result: Record<string, Spending> | undefined,
  ]
  projects: [input: undefined, result: string[]]
  readKeys: [input: RowPage, result: KeyRow[]]
  addKeys: [input: { project: string; keys: KeyRow[] }, result: undefined]
  readPurges: [input: { project: string }, result: PurgeRow[]]
  addPurges: [input: { project: string; purges: PurgeRow[] }, result: undefined]
}

export type UpkeepOperation = keyof UpkeepWork
export type UpkeepInput<O extends UpkeepOperation> = UpkeepWork[O][0]
export type UpkeepResult<O extends UpkeepOperation> = UpkeepWork[O][1]

/** The operations that write. A store refuses them when it was opened for reading only. */
export const writingOperations: ReadonlySet<UpkeepOperation> = new Set<UpkeepOperation>([
  ...(['repair', 'erase', 'rewrite', 'purge', 'restorePage', 'noteUse', 'addKeys', 'addPurges'] as const),
])

/** Runs an operation of upkeep. */
export type RunUpkeep = <O extends UpkeepOperation>(
  operation: O,
  input: UpkeepInput<O>,
  onProgress?: Progress,
) => Promise<UpkeepResult<O>>
