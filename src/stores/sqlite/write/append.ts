/** Decides a proposal on the heads as they are, and records the events it gives. Runs inside the writer's transaction. */
import { ConversationPurged, NotFound, VersionConflict } from '../../../errors.ts'
import type { Appended, Proposal } from '../../../log/event-log.ts'
import { addSums, grownSums, noSums } from '../../../log/records/lane.ts'
import { type Encoded, encode } from '../../../log/records/record.ts'
import type { Heads } from '../../../log/views/heads.ts'
import { viewerOf } from '../../../log/visibility.ts'
import { LiveSession, missingConversation, refuseInvalidText } from '../../common/proposal.ts'
import type { Database } from '../database.ts'
import type { ConversationEntry, SessionEntry } from '../heads/head-cache.ts'
import type { HeadStore } from '../heads.ts'
import type { ReadEvents } from '../read/read.ts'
import { idempotencyKeys } from './idempotency-keys.ts'
import type { CheckFence } from './leases.ts'
import { purgeRecords } from './purge-records.ts'
import type { RecordEvents } from './record-events.ts'

export type Append = (proposal: Proposal) => Appended

export function appender({
  database,
  heads,
  clock,
  read,
  checkFence,
  record,
}: {
  database: Database
  heads: HeadStore
  clock: () => number
  read: ReadEvents
  checkFence: CheckFence
  record: RecordEvents
}): Append {
  const purges = purgeRecords(database)
  const keys = idempotencyKeys({ database, heads, read, purges })

  return proposal => {
    refuseInvalidText(proposal)
    const replayed = keys.replay(proposal)
    if (replayed) return replayed
    try {
      return decideAndRecord(proposal)
    } catch (error) {
      const conversationId = missingConversation(proposal, error)
      const archive = conversationId && purges.archiveOf(proposal.project, conversationId)
      throw archive ? new ConversationPurged({ conversationId, archive }) : error
    }
  }

  function decideAndRecord(proposal: Proposal): Appended {
    const { project, once, fence, expected } = proposal
    if (fence) checkFence(heads.projectRow(project), fence)
    const session = findSession(heads, proposal)
    const { entry, conversationId } = findConversation(heads, proposal, session)
    const version = entry?.head.version ?? 0
    if (expected !== 'any' && expected !== version) {
      throw new VersionConflict({ conversationId, expected, actual: version })
    }
    const events = proposal.decide(headsOf(heads, entry, session))
    const now = clock()
    if (events.length === 0) {
      const range = { conversationId, first: version + 1, last: version, sessionId: session?.head.id }
      // A key that recorded nothing must record nothing later either.
      if (once) keys.remember({ project, once }, range, now)
      return { conversation: entry?.head, session: session?.head, events: [], replayed: false }
    }
    if (!entry && events[0]?.type !== 'conversation.created') throw new NotFound('conversation', conversationId)
    const encoded = events.map(encode)
    refuseOverflow(heads, entry, encoded)
    // Refusals end here: from now on the transaction is written to.
    const appended = record(proposal, { conversationId, entry, session, events, encoded, now })
    const [first, last] = [appended.events[0]!.version, appended.events.at(-1)!.version]
    if (once) keys.remember({ project, once }, { conversationId, first, last, sessionId: appended.session?.id }, now)
    return appended
  }
}

function findSession(heads: HeadStore, { project, session }: Proposal): SessionEntry | undefined {
  if (!session) return undefined
  return 'id' in session ? heads.session(project, session.id) : heads.sessionByKey(project, session.key)
}

function findConversation(
  heads: HeadStore,
  { project, conversation, session: query }: Proposal,
  session: SessionEntry | undefined,
): { entry: ConversationEntry | undefined; conversationId: string } {
  if (conversation === 'of-session') {
    if (!session) throw new NotFound('session', query && 'id' in query ? query.id : 'of that kind')
    const { conversationId } = session.head
    return { entry: heads.conversation(project, conversationId), conversationId }
  }
  const entry = conversation.workItem
    ? heads.conversationOf(project, conversation.workItem)
    : heads.conversation(project, conversation.id)
  return { entry, conversationId: entry?.head.info.id ?? conversation.id }
}

function headsOf(heads: HeadStore, entry: ConversationEntry | undefined, session: SessionEntry | undefined): Heads {
  const lastActiveAt = ({ head }: SessionEntry) => heads.lastActiveAt(entry?.row ?? 0, head, viewerOf(head))
  return {
    conversation: entry?.head,
    session: session && new LiveSession(session.head, () => lastActiveAt(session)),
  }
}

/** Counts all events to each lane, which is near enough for sums that no real conversation reaches. */
function refuseOverflow(heads: HeadStore, entry: ConversationEntry | undefined, encoded: readonly Encoded[]): void {
  let adds = noSums
  for (const event of encoded) {
    if (!event.lane || !event.adds) continue
    adds = addSums(adds, event.adds)
    grownSums((entry && heads.findLane(entry, event.lane)?.sums) ?? noSums, adds)
  }
}
