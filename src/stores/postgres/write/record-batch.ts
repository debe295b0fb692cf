/**
 * Records a batch of proposals in one transaction: lock, read, decide, write.
 *
 * A connection that is lost during the commit leaves the outcome unknown. The batch is then tried again: once it has its
 * locks, the first attempt is over, and the hash of its last event stands in the log if it was committed. Hashes are
 * salted, so no other writer has the same.
 */
import { ConversationPurged, KeyReused } from '../../../errors.ts'
import type { Appended, Proposal } from '../../../log/event-log.ts'
import { isSameCall } from '../../common/proposal.ts'
import type { Database, Run } from '../database.ts'
import { headQuery, readHeads } from '../heads.ts'
import type { Projects } from '../projects.ts'
import type { ReadEvents } from '../read/events.ts'
import { type BatchFacts, readFacts, type UsedKey } from './batch-facts.ts'
import { type DecidedBatch, decideBatch, type Outcome, purgedArchive } from './decide-batch.ts'
import type { Draft } from './draft.ts'
import {
  insertBlobs,
  insertConversations,
  insertEvents,
  insertKeys,
  insertLanes,
  insertSessions,
  updateInfos,
  updateNewestEvents,
  updateSessions,
} from './insert-rows.ts'

export interface RecordingInput {
  database: Database
  projects: Projects
  epoch: string
  /** Added to the server's transaction numbers. */
  base: number
  clock: () => number
  /** The time that leases are measured by; null for the server's. */
  leaseClock: () => number | null
}

/** A process that is stopped in the middle of an append holds the locks of its conversations for so long. */
const maxIdleMs = 5_000

/** Returns the outcome of each proposal; undefined where it has to wait for another batch. */
export async function recordBatch(
  input: RecordingInput,
  proposals: readonly Proposal[],
): Promise<Array<Outcome | undefined>> {
  const { database, projects, epoch, base, clock, leaseClock } = input
  let earlier: DecidedBatch | undefined
  for (;;) {
    const numbers = await numbersOf(proposals, projects)
    const decided = await database.transaction(
      async run => {
        const facts = await readFacts(run, proposals, { epoch, projects: numbers, leaseTime: leaseClock() })
        if (!facts) return undefined
        const committed = earlier && (await transactionOf(run, earlier))
        if (earlier && committed !== undefined) return { ...earlier, tx: committed }
        const batch = await decideBatch(run, proposals, facts, clock)
        if (batch.missingProjects.size > 0) return { ...batch, tx: 0 }
        const tx = await writeBatch(run, base, batch)
        earlier = batch
        return { ...batch, tx }
      },
      { noticesCommit: true, maxIdleMs },
    )
    if (!decided) continue
    for (const project of decided.missingProjects) await projects.ensure(project, clock())
    if (decided.missingProjects.size > 0) continue
    for (const draft of decided.drafts) draft.setPositions(epoch, decided.tx)
    return decided.outcomes
  }
}

/** Records one proposal inside a transaction of the caller's, which holds the conversation's lock. */
export async function recordWithin(
  run: Run,
  { epoch, base, clock }: Pick<RecordingInput, 'epoch' | 'base' | 'clock'>,
  number: number,
  proposal: Proposal,
): Promise<Appended> {
  const facts: BatchFacts = {
    heads: await readHeads(run, [headQuery(proposal, number)]),
    projects: new Map([[proposal.project, number]]),
    usedKey: () => undefined,
    isHeld: () => true,
  }
  const batch = await decideBatch(run, [proposal], facts, clock)
  const tx = await writeBatch(run, base, batch)
  for (const draft of batch.drafts) draft.setPositions(epoch, tx)
  const [outcome] = batch.outcomes
  if (outcome?.kind === 'appended') return outcome.appended
  throw outcome?.kind === 'refused' ? outcome.error : new Error('the proposal was not decided')
}

/** Returns what an idempotency key recorded when it was used first. */
export async function replay(
  { database, read }: { database: Database; read: ReadEvents },
  { project, once }: Proposal,
  used: UsedKey,
): Promise<Appended> {
  const { conversationId, first, last, sessionId, project: number } = used
  if (!isSameCall(used.digest, once!)) throw new KeyReused(once!.key)
  const session = sessionId === null ? undefined : { id: sessionId }
  const query = headQuery({ project, conversation: { id: conversationId }, ...(session && { session }) }, number)
  const [heads] = await readHeads(database.read, [query])
  const hasEvents = last >= first
  if (!heads?.entry) {
    const archive = await purgedArchive(database.read, number, conversationId)
    // A key that recorded nothing may be of a conversation that was never made.
    if (archive !== undefined || hasEvents) {
      throw new ConversationPurged({ conversationId, archive: archive ?? 'unknown' })
    }
  }
  const events =
    heads?.entry && hasEvents
      ? await read({ project, conversationId, from: first, to: last, limit: last - first + 1 })
      : []
  return { conversation: heads?.entry?.head, session: heads?.session, events, replayed: true }
}

async function numbersOf(proposals: readonly Proposal[], projects: Projects): Promise<ReadonlyMap<string, number>> {
  const numbers = new Map<string, number>()
  for (const project of new Set(proposals.map(proposal => proposal.project))) {
    const number = await projects.find(project)
    if (number !== undefined) numbers.set(project, number)
  }
  return numbers
}

/** Returns the number of the transaction in positions. */
async function writeBatch(run: Run, base: number, { drafts, keys }: DecidedBatch): Promise<number> {
  await insertNewConversations(run, drafts)
  const stored = drafts.filter(draft => draft.base)
  const [tx] = await Promise.all([
    insertEventsBehindLanes(run, base, drafts),
    updateNewestEvents(
      run,
      stored.map(draft => draft.newestEventRow),
    ),
    updateInfos(
      run,
      stored.flatMap(draft => draft.infoRow ?? []),
    ),
    // Before the new ones: a session that ends may give its key to its successor.
    updateSessions(
      run,
      drafts.flatMap(draft => draft.sessionRows({ isNew: false })),
    ),
    insertSessions(
      run,
      drafts.flatMap(draft => draft.sessionRows({ isNew: true })),
    ),
    insertKeys(run, keys),
    insertBlobs(
      run,
      drafts.flatMap(draft => draft.blobRows),
    ),
  ])
  return tx
}

/** The conversations of new drafts get their numbers. */
async function insertNewConversations(run: Run, drafts: readonly Draft[]): Promise<void> {
  const created = drafts.filter(draft => !draft.base)
  const numbers = await insertConversations(
    run,
    created.map(draft => draft.conversationRow),
  )
  for (const [index, draft] of created.entries()) draft.conversation = numbers[index]!
}

async function insertEventsBehindLanes(run: Run, base: number, drafts: readonly Draft[]): Promise<number> {
  const [, tx] = await Promise.all([
    insertLanes(
      run,
      drafts.flatMap(draft => draft.laneRows),
    ),
    insertEvents(
      run,
      base,
      drafts.flatMap(draft => draft.eventRows),
    ),
  ])
  return tx
}

/** Returns the number of the transaction that wrote a batch, if it was committed. */
async function transactionOf(run: Run, { drafts }: DecidedBatch): Promise<number | undefined> {
  const draft = drafts[0]
  const last = draft?.recorded.at(-1)
  if (!draft || !last) return undefined
  const [row] = await run<[number, string]>(
    `select tx, encode(hash, 'hex') from events where project = $1 and conversation = $2 and version = $3`,
    [draft.projectNumber, draft.conversation, last.version],
  )
  return row?.[1] === last.hash ? row[0] : undefined
}
