/** Text of events for a timeline. Technical events (requests, cursors, settings) have none. */
import type { StoredEvent } from '../../log/events/event.ts'
import { workItemText } from './format.ts'

export interface EventText {
  kind: string
  text: string
  mood: 'plain' | 'change' | 'good' | 'bad'
}

/** Names that other events hold. */
interface Names {
  actor: string
  agentOf(sessionId: string): string
  delegateOf(delegationId: string): string
}

export function eventText(event: StoredEvent, { actor, agentOf, delegateOf }: Names): EventText | undefined {
  switch (event.type) {
    case 'conversation.created':
      return plain('created', `${workItemText(event.workItem)}, by ${actor}${origin(event)}`)
    case 'conversation.annotated':
      return event.title === undefined ? undefined : plain('renamed', `"${event.title}"`)
    case 'conversation.completed':
      return good('completed', event.summary ?? '')
    case 'conversation.reopened':
      return plain('reopened', event.reason ?? '')
    case 'conversation.archived':
      return plain('archived', event.reason ?? '')
    case 'conversation.restored':
      return plain('restored', event.reason ?? '')
    case 'branch.merged':
      return good('merged', `its conclusion was merged into ${event.into}`)
    case 'session.created':
      return plain('joined', `${event.agentName}${event.taskState === undefined ? '' : ` in ${event.taskState}`}`)
    case 'session.cleared':
      return plain('cleared', `${agentOf(event.sessionId)} starts again; the log keeps everything`)
    case 'session.reset':
      return plain('reset', agentOf(event.sessionId))
    case 'session.expired':
      return plain('expired', agentOf(event.sessionId))
    case 'session.deleted':
      return plain('left', agentOf(event.sessionId))
    case 'phase.changed': {
      const why = event.reason ?? event.message ?? event.summary
      const by = event.agent === undefined ? '' : ` (${event.agent})`
      return change('phase', `${event.from ?? 'none'} → ${event.to}${why ? `: ${why}` : ''}${by}`)
    }
    case 'phase.stuck':
      return bad('stuck', `in ${event.phase}, since ${event.since}`)
    case 'turn.started':
      return change(`turn ${event.number}`, `→ ${event.agents.join(', ')}: ${event.instruction ?? event.reason}`)
    case 'completion.recorded': {
      const result = event.message ?? (event.found === undefined ? '' : `see message #${event.found}`)
      const text = `${event.agent}${because(result)}`
      return event.outcome === 'completed' ? good('done', text) : bad('failed', text)
    }
    case 'turn.resolved': {
      // Each completion has a line of its own.
      if (event.outcome === 'completed') return undefined
      const missing = event.missing.length > 0 ? `, without ${event.missing.join(', ')}` : ''
      return bad('turn over', `#${event.started} ${event.outcome}${missing}${because(event.reason)}`)
    }
    case 'turn.undone':
      return bad('undone', `the turn of #${event.started}${because(event.reason)}`)
    case 'loop.detected':
      return bad('loop', event.finding)
    case 'loop.cleared':
      return good('loop over', event.reason ?? event.rule ?? '')
    case 'delegation.started':
      return change('delegated', `${event.from} → ${event.to}: ${event.title} (${event.childId})`)
    case 'delegation.ended':
      return event.outcome === 'completed'
        ? good('returned', delegateOf(event.delegationId))
        : bad('returned', `${delegateOf(event.delegationId)}: ${event.outcome}`)
    case 'delegation.returned':
      return good('handed back', event.outcome)
    case 'checkpoint.taken': {
      const { number, upTo, author } = event.checkpoint
      const saved = `${event.tokensBefore} → ${event.tokensAfter} tokens`
      const checkpoint = `${agentOf(event.sessionId)}, checkpoint ${number} up to #${upTo}`
      return change('compacted', `${checkpoint}: ${event.messages} messages, ${saved}, by ${author}`)
    }
    case 'compaction.failed':
      return bad('compaction', `of ${agentOf(event.sessionId)} failed: ${event.reason}`)
    case 'execution.stopped':
      return event.crashed ? bad('crashed', event.agent) : undefined
    case 'message.erased':
      return bad('erased', `the content of #${event.version}${because(event.reason)}`)
    case 'damaged':
      return bad('damaged', `${event.storedType}: ${event.reason}`)
    default:
      return workText(event)
  }
}

function workText(event: StoredEvent): EventText | undefined {
  switch (event.type) {
    case 'feature.described':
      return plain(
        'feature',
        Object.keys(event)
          .filter(key => key !== 'type' && key !== 'featureId')
          .join(', '),
      )
    case 'ralph.started': {
      const { agent, round, checks, feedback } = event
      const until = checks.length > 0 ? `until ${checks.join(', ')} pass` : 'without checks'
      return change('loop', `${agent}, round ${round}, ${until}${feedback === undefined ? '' : ', with the review'}`)
    }
    case 'iteration.ended': {
      const failed = event.checks.filter(check => !check.passed).map(({ name }) => name)
      const how = failed.length > 0 ? `failed: ${failed.join(', ')}` : 'all checks pass'
      const text = `${event.number}, ${event.commit.slice(0, 9)}, ${how}`
      return failed.length > 0 ? bad('iteration', text) : good('iteration', text)
    }
    case 'ralph.ended': {
      const text = `${event.outcome} after ${event.iterations} iteration${event.iterations === 1 ? '' : 's'}${because(event.reason)}`
      return event.outcome === 'passed' ? good('loop over', text) : bad('loop over', text)
    }
    case 'review.given':
      return event.verdict === 'pass'
        ? good('review', `${event.agent} passes it${because(event.feedback)}`)
        : bad('review', `${event.agent} returns it${because(event.feedback)}`)
    case 'landing.started':
      return plain('merging', `${event.branch} into ${event.base}`)
    case 'conflicts.found':
      return bad('conflicts', event.files.join(', '))
    case 'landing.ended':
      return event.outcome === 'landed'
        ? good('merged', event.commit?.slice(0, 9) ?? '')
        : bad('not merged', `${event.outcome}${because(event.reason)}`)
    case 'tasks.planned':
      return change('planned', `${planText(event)}${event.reason ? `: ${event.reason}` : ''}`)
    case 'work.moved': {
      const text = `${event.from} → ${event.to}${event.reason ? `: ${event.reason}` : ''}`
      if (event.to === 'merged' || event.to === 'done') return good('work', text)
      return ['failed', 'blocked', 'parked'].includes(event.to) ? bad('work', text) : change('work', text)
    }
    case 'work.reported':
      return good('result', event.summary)
    case 'work.attempted':
      return event.outcome === 'failed' ? bad('attempt', event.reason ?? 'failed') : undefined
    case 'worktree.created':
      return plain('worktree', `${event.path} on ${event.branch}`)
    case 'worktree.removed':
      return plain('worktree', `${event.path} is gone${event.reason ? `: ${event.reason}` : ''}`)
    default:
      return undefined
  }
}

function origin(event: Extract<StoredEvent, { type: 'conversation.created' }>): string {
  const { branchOf, delegated } = event
  if (branchOf) return `, off ${branchOf.conversationId} at #${branchOf.version}`
  return delegated ? `, delegated by ${delegated.from} in ${delegated.conversationId}` : ''
}

function because(reason: string | undefined): string {
  return reason ? `: ${reason}` : ''
}

const plain = (kind: string, text: string): EventText => ({ kind, text, mood: 'plain' })
const change = (kind: string, text: string): EventText => ({ kind, text, mood: 'change' })
const good = (kind: string, text: string): EventText => ({ kind, text, mood: 'good' })
const bad = (kind: string, text: string): EventText => ({ kind, text, mood: 'bad' })

function planText({ added, changed, removed }: { added: unknown[]; changed: unknown[]; removed: unknown[] }): string {
  const parts = Object.entries({ added, changed, removed }).filter(([, tasks]) => tasks.length > 0)
  return parts.map(([what, tasks]) => `${tasks.length} ${what}`).join(', ')
}
