/**
 * Converts an event to a row of the timeline: message, question, compaction, divider, or nothing for events that only
 * the audit shows. Pure.
 */
import type { StoredEvent } from 'colloquy/client'
import { duration } from '../format.ts'
import { divider, fact, type Row } from './row.ts'
import { sessionRowOf } from './session-row-of.ts'
import { workRowOf } from './work-row-of.ts'

/** @param agentOf returns the agent of a session, or a placeholder */
export function rowOf(event: StoredEvent, agentOf: (sessionId: string) => string): Row {
  switch (event.type) {
    case 'message.added':
      return { kind: 'message' }
    case 'question.asked':
      return { kind: 'question' }
    case 'checkpoint.taken':
      return { kind: 'compaction' }
    case 'conversation.created': {
      const { branchOf, delegated } = event
      if (branchOf) {
        const text = `Branch, from version ${branchOf.version} of another conversation`
        return { ...divider('turn', text), conversationId: branchOf.conversationId, version: branchOf.version }
      }
      if (delegated) {
        const text = `Delegated by ${delegated.from} to ${delegated.to}`
        return { ...divider('turn', text), conversationId: delegated.conversationId }
      }
      return divider('quiet', event.phase === undefined ? 'Started' : `Started in phase ${event.phase}`)
    }
    case 'conversation.annotated':
      return event.title === undefined ? fact('Metadata changed') : divider('quiet', `Titled “${event.title}”`)
    case 'conversation.completed':
      return divider('good', 'Completed', event.summary)
    case 'conversation.reopened':
      return divider('quiet', 'Reopened', event.reason)
    case 'conversation.archived':
      return divider('warn', 'Archived', event.reason)
    case 'conversation.restored':
      return divider('quiet', 'Restored', event.reason)
    case 'branch.merged':
      return { ...divider('good', 'Merged: its conclusion was taken back'), conversationId: event.into }
    case 'phase.changed': {
      const { from, to, agent } = event
      const text = `Phase: ${from === undefined ? to : `${from} → ${to}`}${agent === undefined ? '' : `, by ${agent}`}`
      return divider('phase', text, event.message, event.reason, event.summary)
    }
    case 'phase.stuck':
      return divider('warn', `Phase ${event.phase} takes long: ${duration(event.forMs)}`)
    case 'turn.started':
      return divider('turn', `Turn ${event.number} → ${event.agents.join(', ')}`, event.reason, event.instruction)
    case 'completion.recorded': {
      const { agent, outcome, message } = event
      return outcome === 'failed'
        ? divider('bad', `${agent} failed`, message)
        : message === undefined
          ? fact(`${agent} completed its part of the turn`)
          : divider('good', `${agent} completed`, message)
    }
    case 'turn.resolved': {
      const { outcome, missing, reason } = event
      if (outcome === 'completed') return divider('quiet', 'Turn completed')
      const who = missing.length > 0 ? `, without ${missing.join(', ')}` : ''
      return divider('bad', `Turn ${outcome === 'timed-out' ? 'timed out' : 'failed'}${who}`, reason)
    }
    case 'turn.undone':
      return divider('warn', 'Routing decision taken back', event.reason)
    case 'loop.detected':
      return { kind: 'loop', finding: event.finding, agents: event.agents }
    case 'loop.cleared':
      return divider('quiet', event.rule ? `Loop cleared (${event.rule})` : 'Loop acknowledged', event.reason)
    case 'delegation.started': {
      const { from, to, title, childId } = event
      return { ...divider('turn', `${from} delegates to ${to}: ${title}`), conversationId: childId }
    }
    case 'delegation.returned':
      return divider(event.outcome === 'completed' ? 'good' : 'bad', `Delegated work ${event.outcome}`)
    case 'delegation.ended':
      return divider(event.outcome === 'completed' ? 'quiet' : 'bad', `Delegation ${event.outcome}`)
    case 'question.answered':
      return divider('quiet', `${event.timedOut ? 'Nobody answered in time, so' : 'Answered'}: ${event.answer}`)
    case 'message.erased':
      return divider('warn', `Message ${event.version} was erased`, event.reason)
    case 'message.pinned':
      return divider('quiet', `Message ${event.version} was ${event.pinned ? 'pinned' : 'unpinned'}`)
    case 'damaged':
      return divider('bad', 'A record that cannot be read', event.reason)
    case 'erased':
      return event.storedType === 'message.added' ? { kind: 'message' } : fact('Erased')
    case 'unknown':
      return event.storedType === 'message.added'
        ? { kind: 'message' }
        : fact(`Written by a newer version: ${event.storedType}`)
    case 'file.read':
      return fact(`${event.agent} read ${event.path}`)
    case 'execution.started':
      return fact(`${event.agent} is at work`)
    case 'execution.stopped':
      return fact(`${event.agent} stopped`)
    case 'question.taken':
      return fact('The answer was taken up')
    case 'reference.resolved':
      return fact(`Reference of message ${event.of} resolved`)
    default:
      return sessionRowOf(event, agentOf) ?? workRowOf(event) ?? fact((event as { type: string }).type)
  }
}
