/**
 * What the sharing policy lets a session know of others: the checkpoints of the sessions on the same conversation, and,
 * in a delegated conversation, of those on the one it was delegated from, with its newest messages where messages are
 * shared. Bounded: a few sessions, and of each the beginning.
 */
import type { ComputedLine } from '../compaction/computed.ts'
import { renderItems } from '../compaction/render.ts'
import type { Engine } from '../engine.ts'
import type { Sharing } from '../events/session.ts'
import type { TokenEstimator } from '../request/tokens.ts'
import { trimText } from '../request/trim.ts'
import type { ConversationInfo } from '../views/conversation.ts'
import type { SessionHead } from '../views/session.ts'
import { eventAt } from './session-access.ts'

const mostSessions = 4
const mostMessages = 10
const mostTokensEach = 1_500
/** In a small request too the beginning of the newest has room. */
const shareEach = 0.4

export interface SharedInput {
  engine: Engine
  head: SessionHead
  conversation: ConversationInfo | undefined
  counter: TokenEstimator
  /** Only what was there at this version. */
  end: number | undefined
  /** What all of the state may take in the request: of one session not more than a part of it. */
  maxTokens: number
}

export async function sharedWith(input: SharedInput): Promise<ComputedLine[]> {
  const { engine, head, conversation, counter, end, maxTokens } = input
  if (head.sharing === 'separate') return []
  const { project } = head
  const { delegated } = conversation ?? {}
  const own = await checkpointsOn(head.conversationId)
  if (!delegated) return own
  const from = await checkpointsOn(delegated.conversationId, Number.MAX_SAFE_INTEGER)
  return [...(await messagesBefore(delegated.conversationId)), ...from, ...own]

  async function checkpointsOn(conversationId: string, upTo = end ?? Number.MAX_SAFE_INTEGER): Promise<ComputedLine[]> {
    const { items } = await engine.store.sessions({
      project,
      conversationId,
      status: ['active', 'archived', 'expired'],
      limit: 50,
    })
    const lines: ComputedLine[] = []
    for (const other of items) {
      const { checkpoint } = other
      if (other.id === head.id || !checkpoint || checkpoint.version > upTo || !shares(other.sharing)) continue
      const event = await eventAt(engine, other, checkpoint.version, 'checkpoint.taken')
      if (!event) continue
      const state = other.taskState === undefined ? '' : ` in ${other.taskState}`
      const label = `${other.agentName}${state}, checkpoint ${checkpoint.number} up to message ${checkpoint.upTo}`
      lines.push({ label, quote: beginning(renderItems(event.checkpoint.items).join('\n')) })
      if (lines.length === mostSessions) break
    }
    return lines.reverse()
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
