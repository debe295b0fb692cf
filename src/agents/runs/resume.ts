/**
 * Determines where a run starts. Usually at the message it is to answer; after a crash, where the previous run stopped.
 * Open tool calls get their results first, because a call and its result must stay together.
 */
import type { ToolCallPart } from '../../log/events/part.ts'
import type { Message } from '../../log/views/message.ts'
import type { RunDesk } from './desk.ts'
import { newcomer, type RunInput } from './run-input.ts'
import { runCalls, storeResult } from './tool-calls.ts'

type Next = { state: 'asked'; trigger: Message } | { state: 'answered'; message: Message }

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

export async function takenUp(desk: RunDesk, input: RunInput): Promise<Next> {
  const { trigger } = input
  const own = (message: Message) => message.role === 'assistant' && message.author === desk.head.agentName
  if (wasCutOff(desk)) {
    const before = await desk.messagesAfter(Math.max(0, trigger.version - lookBack))
    const asking = before.findLast(message => own(message) && openCalls(message, before).length > 0)
    if (asking) await settle(desk, input, asking, openCalls(asking, before))
  }
  const since = await desk.messagesAfter(trigger.version)
  const last = since.findLast(own)
  if (!last) return { state: 'asked', trigger }
  const ids = new Set(callsOf(last).map(call => call.callId))
  if (ids.size > 0) {
    const result = since.findLast(({ parts }) =>
      parts.some(part => part.type === 'tool-result' && ids.has(part.callId)),
    )
    return { state: 'asked', trigger: result ?? trigger }
  }
  if (last.metadata?.cutOff !== undefined) return { state: 'asked', trigger }
  const said = newcomer(
    since.filter(message => message.version > last.version),
    desk,
  )
  return said ? { state: 'asked', trigger: said } : { state: 'answered', message: last }
}

/** True when the previous run left something open. The head was read before this run. */
function wasCutOff({ head }: RunDesk): boolean {
  return head.run !== undefined && head.run.outcome !== 'done'
}

/** Versions searched before the trigger for an interrupted call. Older ones were already reported as open. */
const lookBack = 200

function callsOf({ parts }: Message): ToolCallPart[] {
  return parts.filter(part => part.type === 'tool-call')
}

function openCalls(message: Message, all: readonly Message[]): ToolCallPart[] {
  const later = all.filter(one => one.version > message.version)
  const hasResult = (callId: string) =>
    later.some(({ parts }) => parts.some(part => part.type === 'tool-result' && part.callId === callId))
  return callsOf(message).filter(call => !hasResult(call.callId))
}

/** Repeats calls that are safe to repeat. For the others the model is told that their outcome is unknown. */
async function settle(
  desk: RunDesk,
  { calls, tools, signal, trigger }: RunInput,
  asking: Message,
  open: readonly ToolCallPart[],
): Promise<void> {
  // A newer message exists: it takes the place of the answer to the older one.
  const isOvertaken = trigger.version > asking.version
  const again: ToolCallPart[] = []
  for (const call of open) {
    const { name, callId } = call
    if (!isOvertaken && (repeatable.has(name) || (await calls.waits(callId, asking)))) {
      again.push(call)
      continue
    }
    const text = isOvertaken
      ? 'Cut off before it had a result; a new message came instead.'
      : 'Cut off: the process ended before the result came. Whether it was done is not known; look before you do it again.'
    await storeResult(desk, call, { text, isError: true })
  }
  if (again.length > 0) await runCalls(desk, { ...calls, calls: again, tools, signal, budget: resumedBudget, asking })
}

/** Maximum tokens of the repeated results. */
const resumedBudget = 30_000
