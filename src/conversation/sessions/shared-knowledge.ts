/**
 * Reads what the sharing policy lets a session know of others: the checkpoints of the sessions on the same conversation
 * (where messages are shared, it sees those themselves), and, in a delegated conversation, the checkpoints on the
 * conversation it was delegated from, with its newest messages where messages are shared.
 *
 * A checkpoint is shared item by item: an item that comes from a message for others is left out.
 */
import type { Engine } from '../../log/engine.ts'
import type { CheckpointItem } from '../../log/events/checkpoint.ts'
import type { ConversationInfo } from '../../log/views/conversation.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { Viewer } from '../../log/visibility.ts'
import { windowOf } from '../../log/windows.ts'
import type { SharedKnowledge } from '../../request/assembly/shared-lines.ts'
import type { PastHeads } from '../access/heads-at.ts'
import { eventAt } from '../access/session-access.ts'

const maxSessions = 4
const maxMessages = 10

interface Sharer {
  engine: Engine
  session: SessionHead
  conversation: ConversationInfo | undefined
  /** The sessions at an earlier version. Absent for now. */
  sessions: PastHeads['sessions'] | undefined
  /** The newest version that counts. */
  end: number
}

export async function sharedKnowledge(sharer: Sharer): Promise<SharedKnowledge[]> {
  const { session, conversation, end } = sharer
  if (session.sharing === 'separate') return []
  const own = session.sharing === 'checkpoint' ? await checkpointsOn(sharer, session.conversationId, end) : []
  const { delegated } = conversation ?? {}
  if (!delegated) return own
  const parent = await checkpointsOn(sharer, delegated.conversationId, Number.MAX_SAFE_INTEGER)
  return [...(await messagesBeforeDelegation(sharer, delegated.conversationId)), ...parent, ...own]
}

/** The newest checkpoints of a few sessions, the newest session last. */
async function checkpointsOn(sharer: Sharer, conversationId: string, upTo: number): Promise<SharedKnowledge[]> {
  const shared: SharedKnowledge[] = []
  for (const other of await sessionsOn(sharer, conversationId)) {
    if (other.id === sharer.session.id || other.sharing === 'separate') continue
    const checkpoint = await newestCheckpoint(sharer, other, upTo)
    if (!checkpoint) continue
    const items = await sharableItems(sharer, other, checkpoint.items)
    const { agentName, taskState } = other
    if (items.length > 0)
      shared.push({ agentName, taskState, checkpoint: checkpoint.number, upTo: checkpoint.upTo, items })
    if (shared.length === maxSessions) break
  }
  return shared.reverse()
}

/** Newest first, without deleted ones. */
async function sessionsOn(
  { engine, session, sessions }: Sharer,
  conversationId: string,
): Promise<readonly SessionHead[]> {
  if (sessions && conversationId === session.conversationId) {
    return [...sessions.values()].filter(other => other.status !== 'deleted').reverse()
  }
  const status = ['active', 'archived', 'expired'] as const
  return (await engine.store.sessions({ project: session.project, conversationId, status, limit: 50 })).items
}

/** A checkpoint taken after `upTo` does not hide the one before it. */
async function newestCheckpoint({ engine }: Sharer, other: SessionHead, upTo: number) {
  let version = other.checkpoint?.version
  while (version !== undefined) {
    const event = await eventAt(engine, other, version, 'checkpoint.taken')
    if (event && version <= upTo) return event.checkpoint
    version = event?.previous
  }
  return undefined
}

/** The items whose sources this session would all see if it were the other one too. */
async function sharableItems(
  { engine, session }: Sharer,
  other: SessionHead,
  items: readonly CheckpointItem[],
): Promise<CheckpointItem[]> {
  const viewer: Viewer = {
    sees: 'as-session',
    sessionId: session.id,
    agentName: session.agentName,
    continues: [...(session.continues ?? []), other.id, ...(other.continues ?? [])],
  }
  const sources = [...new Set(items.flatMap(item => item.sources))].sort((a, b) => a - b)
  const messages = await engine.store.messages(
    { ...windowOf(other), viewer, start: Number.MAX_SAFE_INTEGER, kept: sources },
    { limit: Math.max(1, sources.length) },
  )
  const visible = new Set(messages.map(message => message.version))
  return items.filter(item => item.sources.every(version => visible.has(version)))
}

/** The newest messages to everyone in the parent conversation, up to the delegation. */
async function messagesBeforeDelegation(
  { engine, session }: Sharer,
  conversationId: string,
): Promise<SharedKnowledge[]> {
  if (session.sharing !== 'messages') return []
  const { project } = session
  const parent = await engine.store.conversation(project, conversationId)
  const { pending = [], ended = [] } = parent?.info.delegations ?? {}
  const version = [...pending, ...ended].find(({ childId }) => childId === session.conversationId)?.version
  const messages = await engine.store.messages(
    {
      project,
      conversationId,
      // The session is not on that conversation, so as a viewer it sees only what is for everyone.
      viewer: { sees: 'as-session', sessionId: session.id, agentName: session.agentName },
      kinds: ['talk'],
      start: 0,
      kept: [],
      ...(version !== undefined && { end: version }),
      ...(parent?.info.branchOf && { branchOf: parent.info.branchOf }),
    },
    { limit: maxMessages },
  )
  return messages.map(({ version, author, content }) => ({ version, author, content }))
}
