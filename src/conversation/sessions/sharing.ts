/**
 * What the sharing policy lets a session know of others: the checkpoints of the sessions on the same conversation
 * (where messages are shared, it sees those themselves), and, in a delegated conversation, of those on the one it was
 * delegated from, with its newest messages where messages are shared. Bounded: a few sessions, and of each the beginning.
 *
 * A checkpoint is shared item by item: what comes from a message that was meant for others is left out.
 */

import type { Engine } from '../../log/engine.ts'
import type { CheckpointItem } from '../../log/events/checkpoint.ts'
import type { Sharing } from '../../log/events/session.ts'
import type { Recent } from '../../log/lru.ts'
import type { ConversationInfo } from '../../log/views/conversation.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { Viewer } from '../../log/visibility.ts'
import { windowOf } from '../../log/windows.ts'
import type { ComputedLine } from '../../request/compaction/computed-sections.ts'
import { renderItems } from '../../request/compaction/render-checkpoint.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import { trimText } from '../../request/text/trim.ts'
import type { PastHeads } from '../access/heads-at.ts'
import { eventAt } from '../access/session-access.ts'

const mostSessions = 4
const mostMessages = 10
const mostTokensEach = 1_500
/** In a small request too the beginning of the newest has room. */
const shareEach = 0.4

/** Which items of a checkpoint a session may know: neither changes, so it is found out once. */
export type SharableItems = Recent<ReadonlySet<string>>

export interface SharedInput {
  engine: Engine
  known: SharableItems
  head: SessionHead
  /** May still be on its way: of the session's own conversation nothing of it is needed. */
  conversation: ConversationInfo | undefined | Promise<ConversationInfo | undefined>
  /** How the sessions stood, if not as they do now. */
  then: PastHeads | undefined
  counter: TokenEstimator
  /** Only what was there at this version. */
  end: number | undefined
  /** What all of the state may take in the request: of one session not more than a part of it. */
  maxTokens: number
}

export async function sharedWith(input: SharedInput): Promise<ComputedLine[]> {
  const { engine, known, head, conversation, then, counter, end, maxTokens } = input
  if (head.sharing === 'separate') return []
  const { project } = head
  const own = head.sharing === 'checkpoint' ? await checkpointsOn(head.conversationId) : []
  const { delegated } = (await conversation) ?? {}
  if (!delegated) return own
  const from = await checkpointsOn(delegated.conversationId, Number.MAX_SAFE_INTEGER)
  return [...(await messagesBefore(delegated.conversationId)), ...from, ...own]

  async function checkpointsOn(conversationId: string, upTo = end ?? Number.MAX_SAFE_INTEGER): Promise<ComputedLine[]> {
    const lines: ComputedLine[] = []
    for (const other of await sessionsOn(conversationId)) {
      if (other.id === head.id || !shares(other.sharing)) continue
      const taken = await newestUpTo(other, upTo)
      if (!taken) continue
      const { version, checkpoint } = taken
      const state = other.taskState === undefined ? '' : ` in ${other.taskState}`
      const label = `${other.agentName}${state}, checkpoint ${checkpoint.number} up to message ${checkpoint.upTo}`
      const items = await sharable(other, version, checkpoint.items)
      if (items.length > 0) lines.push({ label, quote: beginning(renderItems(items).join('\n')) })
      if (lines.length === mostSessions) break
    }
    return lines.reverse()
  }

  /** Newest first, but for deleted ones. */
  async function sessionsOn(conversationId: string): Promise<readonly SessionHead[]> {
    if (then && conversationId === head.conversationId) {
      return [...then.sessions.values()].filter(other => other.status !== 'deleted').reverse()
    }
    const status = ['active', 'archived', 'expired'] as const
    return (await engine.store.sessions({ project, conversationId, status, limit: 50 })).items
  }

  /** The newest checkpoint that was there at a version: one that was taken since does not hide it. */
  async function newestUpTo(other: SessionHead, upTo: number) {
    let version = other.checkpoint?.version
    while (version !== undefined) {
      const event = await eventAt(engine, other, version, 'checkpoint.taken')
      if (event && version <= upTo) return { version, checkpoint: event.checkpoint }
      version = event?.previous
    }
    return undefined
  }

  /** What comes only from messages that this session would see if it were the other one too. */
  async function sharable(
    other: SessionHead,
    /** Of the checkpoint. */
    version: number,
    items: readonly CheckpointItem[],
  ): Promise<CheckpointItem[]> {
    const key = JSON.stringify([other.id, version, head.id])
    const before = known.get(key)
    if (before) return items.filter(item => before.has(item.id))
    const viewer: Viewer = {
      sees: 'as-session',
      sessionId: head.id,
      agentName: head.agentName,
      continues: [...(head.continues ?? []), other.id, ...(other.continues ?? [])],
    }
    const sources = [...new Set(items.flatMap(item => item.sources))].sort((a, b) => a - b)
    const seen = await engine.store.messages(
      { ...windowOf(other), viewer, start: Number.MAX_SAFE_INTEGER, kept: sources },
      { limit: Math.max(1, sources.length) },
    )
    const visible = new Set(seen.map(message => message.version))
    const found = items.filter(item => item.sources.every(version => visible.has(version)))
    known.set(key, new Set(found.map(item => item.id)))
    return found
  }

  /** What was said to everyone where the work comes from, before it was handed over. */
  async function messagesBefore(conversationId: string): Promise<ComputedLine[]> {
    if (head.sharing !== 'messages') return []
    const parent = await engine.store.conversation(project, conversationId)
    const start = parent?.info.delegations
    const version = [...(start?.pending ?? []), ...(start?.ended ?? [])].find(
      one => one.childId === head.conversationId,
    )?.version
    const messages = await engine.store.messages(
      {
        project,
        conversationId,
        // Nobody of that conversation: what was said to everyone, and nothing else.
        viewer: { sees: 'as-session', sessionId: head.id, agentName: head.agentName },
        kinds: ['talk'],
        start: 0,
        kept: [],
        ...(version !== undefined && { end: version }),
        ...(parent?.info.branchOf && { branchOf: parent.info.branchOf }),
      },
      { limit: mostMessages },
    )
    return messages.map(({ version, author, content }) => ({
      label: `message ${version} by ${author}, before the delegation`,
      quote: beginning(content),
    }))
  }

  function beginning(text: string): string {
    const tokens = counter.count(text)
    const to = Math.min(mostTokensEach, Math.floor(maxTokens * shareEach))
    return trimText(text, { to, tokens, estimator: counter, how: 'the log has all of it' }).text
  }
}

function shares(sharing: Sharing): boolean {
  return sharing !== 'separate'
}
