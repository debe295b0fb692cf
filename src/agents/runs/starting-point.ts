/**
 * Determines where a run starts: at its trigger, or after a crash where the previous run stopped. Open tool calls get
 * their results first, because a call and its result must stay together.
 */
import type { ToolCallPart } from '../../log/events/part.ts'
import type { Message } from '../../log/views/message.ts'
import { newestMessageFor, type RunInput } from './run-input.ts'
import type { RunPort } from './run-port.ts'
import { runCalls, storeResult } from './tool-calls.ts'

/** `unanswered`: the model is called for the trigger. `answered`: the last answer needs no further call. */
type StartingPoint = { state: 'unanswered'; trigger: Message } | { state: 'answered'; message: Message }

/** Tools that are safe to repeat: the same call asks the same question, and reading changes nothing. */
const repeatable: ReadonlySet<string> = new Set([
  'ask',
  'complete',
  'recall',
  'expand',
  'read_file',
  'list_files',
  'search_files',
  'git_status',
  'git_diff',
  'git_log',
  'review',
])

export async function startingPoint(port: RunPort, input: RunInput): Promise<StartingPoint> {
  const { trigger } = input
  const isOwn = (message: Message) => message.role === 'assistant' && message.author === port.head.agentName
  if (wasCutOff(port)) {
    const before = await port.messagesAfter(Math.max(0, trigger.version - lookBack))
    const asking = before.findLast(message => isOwn(message) && openCalls(message, before).length > 0)
    if (asking) await settle(port, input, asking, openCalls(asking, before))
  }
  const since = await port.messagesAfter(trigger.version)
  const last = since.findLast(isOwn)
  if (!last) return { state: 'unanswered', trigger }
  const ids = new Set(callsOf(last).map(call => call.callId))
  if (ids.size > 0) {
    const result = since.findLast(({ parts }) =>
      parts.some(part => part.type === 'tool-result' && ids.has(part.callId)),
    )
    return { state: 'unanswered', trigger: result ?? trigger }
  }
  if (last.metadata?.cutOff !== undefined) return { state: 'unanswered', trigger }
  const newer = since.filter(message => message.version > last.version)
  const message = newestMessageFor(port.head, newer)
  return message ? { state: 'unanswered', trigger: message } : { state: 'answered', message: last }
}

function wasCutOff({ head }: RunPort): boolean {
  return head.run !== undefined && head.run.outcome !== 'done'
}

/** Versions before the trigger that are searched for an interrupted call. Older ones were already reported as open. */
const lookBack = 200

function callsOf({ parts }: Message): ToolCallPart[] {
  return parts.filter(part => part.type === 'tool-call')
}

function openCalls(message: Message, all: readonly Message[]): ToolCallPart[] {
  const later = all.filter(({ version }) => version > message.version)
  const hasResult = (callId: string) =>
    later.some(({ parts }) => parts.some(part => part.type === 'tool-result' && part.callId === callId))
  return callsOf(message).filter(call => !hasResult(call.callId))
}

/** Repeats calls that are safe to repeat. For the others the model is told that their outcome is unknown. */
async function settle(
  port: RunPort,
  { calls, tools, signal, trigger }: RunInput,
  asking: Message,
  open: readonly ToolCallPart[],
): Promise<void> {
  // A newer message makes the interrupted answer obsolete.
  const isOvertaken = trigger.version > asking.version
  const repeated: ToolCallPart[] = []
  for (const call of open) {
    const { name, callId } = call
    if (!isOvertaken && (repeatable.has(name) || (await calls.waits(callId, asking)))) {
      repeated.push(call)
      continue
    }
    const text = isOvertaken
      ? 'Interrupted before it had a result, because a new message arrived.'
      : 'Interrupted: the process ended before the result was stored. The call may have taken effect; check before you repeat it.'
    await storeResult(port, call, { text, isError: true })
  }
  if (repeated.length > 0)
    await runCalls(port, { ...calls, calls: repeated, tools, signal, budget: resumedBudget, asking })
}

/** Maximum tokens of the repeated results. */
const resumedBudget = 30_000
