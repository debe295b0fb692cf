/** Converts an event of a session or of a run to a row of the timeline; undefined for other events. Pure. */
import type { StoredEvent } from 'colloquy/client'
import { counted, dollars, duration, short } from '../format.ts'
import { divider, fact, type Row } from './row.ts'

export function sessionRowOf(event: StoredEvent, agentOf: (sessionId: string) => string): Row | undefined {
  switch (event.type) {
    case 'session.created':
      return divider(
        'quiet',
        `${event.agentName} joined${event.replaces === undefined ? '' : ' again, with a new session'}`,
      )
    case 'session.cleared':
      return divider('warn', `${agentOf(event.sessionId)}: cleared. What stands above is no longer sent`)
    case 'session.reset':
      return divider(
        'warn',
        `${agentOf(event.sessionId)}: reset${event.kept.length > 0 ? ', system message kept' : ''}`,
      )
    case 'session.archived':
      return divider('quiet', `${agentOf(event.sessionId)}: session archived`, event.reason)
    case 'session.reopened':
      return divider('quiet', `${agentOf(event.sessionId)}: session reopened`)
    case 'session.expired':
      return divider('quiet', `${agentOf(event.sessionId)}: session expired`)
    case 'session.deleted':
      return divider('quiet', `${agentOf(event.sessionId)}: session deleted; the log keeps it`, event.reason)
    case 'compaction.failed':
      return divider(
        'warn',
        `${agentOf(event.sessionId)}: compaction changed nothing${event.latched ? '; the packer serves from here' : ''}`,
        event.reason,
      )
    case 'run.ended': {
      const { agent, outcome, reason, steps, toolCalls, usage, durationMs } = event
      const parts = [
        counted(steps, 'step'),
        ...(toolCalls > 0 ? [counted(toolCalls, 'tool call')] : []),
        ...(usage ? [`${short(usage.input + (usage.cacheRead ?? 0))} in, ${short(usage.output)} out`] : []),
        ...(usage?.cost === undefined ? [] : [dollars(usage.cost)]),
        duration(durationMs),
      ]
      if (outcome === 'done') return divider('quiet', `${agent} is done · ${parts.join(' · ')}`)
      const tone = outcome === 'failed' || outcome === 'crashed' ? 'bad' : 'warn'
      const word = {
        cancelled: 'was stopped',
        failed: 'failed',
        superseded: 'made way for another run',
        crashed: 'crashed',
      }
      return divider(tone, `${agent} ${word[outcome]} · ${parts.join(' · ')}`, reason)
    }
    case 'run.started':
      return fact(`${event.agent} runs on ${event.model}, for message ${event.trigger}`)
    case 'request.built':
      return fact(`${agentOf(event.sessionId)}: request of ${short(event.tokens)} of ${short(event.budget)} tokens`)
    case 'compaction.started':
      return fact(`${agentOf(event.sessionId)}: compaction of ${counted(event.messages, 'message')} started`)
    case 'session.acknowledged':
      return fact(`${agentOf(event.sessionId)} has taken in everything up to ${event.upTo}`)
    case 'session.annotated':
    case 'session.configured':
    case 'session.described':
    case 'session.linked':
    case 'context.gathered':
      return fact(`${agentOf(event.sessionId)}: ${event.type.replace('.', ' ')}`)
    default:
      return undefined
  }
}
