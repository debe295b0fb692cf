/** An event of the log on one line. */
import type { RecordedEvent } from '../../index.ts'
import type { StoredEvent } from '../../log/events/event.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { columns, style } from '../terminal/terminal.ts'
import { cut, padEnd, padStart } from '../terminal/text-width.ts'
import { localTime, workItemText } from './format.ts'
import { foldedMessage } from './messages.ts'

/** Into a pipe a line may be long, but not as long as a message can be. */
const longestSummary = 400

export function eventLine(recorded: RecordedEvent, versionWidth: number): string {
  const { version, at, actor, channel, event } = recorded
  const start = [
    style.cyan(padStart(String(version), versionWidth)),
    style.dim(localTime(at)),
    padEnd(eventName(event), 22),
    style.dim(padEnd(safeLine(`${actor}/${channel}`), 13)),
  ].join('  ')
  return cut(`${start}  ${cut(summaryOf(event), longestSummary)}`, columns()).trimEnd()
}

/** Its type, or for one whose content is not there, the type it had. */
export function eventName(event: StoredEvent): string {
  return safeLine('storedType' in event ? event.storedType : event.type)
}

export function summaryOf(event: StoredEvent): string {
  switch (event.type) {
    case 'message.added':
      return foldedMessage(event)
    case 'message.erased':
      return safeLine(`the content of version ${event.version}${event.reason ? `: ${event.reason}` : ''}`)
    case 'conversation.created':
      return safeLine(`"${event.title}", ${workItemText(event.workItem)}`)
    case 'session.created':
      return safeLine(`${event.agentName} ${event.sessionId}${event.taskState ? ` in state ${event.taskState}` : ''}`)
    case 'run.started':
      return safeLine(
        `${event.agent} on ${event.model}, to answer ${event.trigger}${event.resumes ? ' (goes on)' : ''}`,
      )
    case 'run.ended': {
      const took = `${event.steps} steps, ${event.toolCalls} tool calls`
      return safeLine(`${event.agent} ${event.outcome}${event.reason ? `: ${event.reason}` : ''} (${took})`)
    }
    case 'question.asked':
      return safeLine(`${event.agent}: ${event.text}`)
    case 'erased':
      return '(erased)'
    case 'damaged':
      return style.red(`(damaged: ${safeLine(event.reason)})`)
    case 'unknown':
      return safeLine(`(not known to this version) ${JSON.stringify(event.data) ?? ''}`)
    default: {
      const { type: _, ...rest } = event
      return safeLine(
        Object.entries(rest)
          .map(([name, value]) => (typeof value === 'string' ? value : `${name} ${JSON.stringify(value)}`))
          .join(' · '),
      )
    }
  }
}
