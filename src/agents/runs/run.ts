/**
 * One run: an agent answers what waits in its session. The model is called, its tools are run, and it is called again
 * until it has no more calls. The run's owner holds the session's lease.
 *
 * Everything is in the log before the next step, so an interrupted run can be resumed at any point, and every ending is
 * recorded. Messages that arrive meanwhile are included in the next step and answered once.
 */
import { LeaseLost } from '../../errors.ts'
import { Usage } from '../../log/events/message.ts'
import type { Part } from '../../log/events/part.ts'
import type { RunOutcome } from '../../log/events/run.ts'
import type { Message } from '../../log/views/message.ts'
import { addUsage } from '../../log/views/runs.ts'
import type { AnswerPart, ModelAnswer } from '../../models/answer.ts'
import type { ModelFailure } from '../../models/model.ts'
import type { RunDesk } from './desk.ts'
import { takenUp } from './resume.ts'
import { newcomer, type RunInput } from './run-input.ts'
import { askModel, type Step } from './step.ts'
import { runCalls } from './tool-calls.ts'

export interface RunResult {
  runId: string
  sessionId: string
  conversationId: string
  outcome: RunOutcome
  /** The failure, or who stopped it. */
  reason?: string
  /** The model's failure behind it. */
  failure?: ModelFailure
  /** The agent's last text, including that of an interrupted answer. */
  text: string
  messageId?: string
  /** The text it completed with. */
  completed?: string
  steps: number
  toolCalls: number
  usage: Usage
}

type Way = Pick<RunResult, 'outcome' | 'reason' | 'failure' | 'completed'>

interface Progress {
  steps: number
  toolCalls: number
  usage: Usage
  /** One call without a known price leaves the sum without a cost. */
  isPriced: boolean
  last: Message | undefined
}

export async function run(desk: RunDesk, input: RunInput): Promise<RunResult> {
  const startedAt = desk.now()
  const progress: Progress = { steps: 0, toolCalls: 0, usage: { input: 0, output: 0 }, isPriced: true, last: undefined }
  await desk.started({ trigger: input.trigger.version, model: input.model.name })
  desk.live({ type: 'run-start', model: input.model.name })
  let way: Way
  try {
    way = await answered(desk, input, progress)
  } catch (error) {
    way = wayOf(error, input)
  }
  if (!progress.isPriced) delete progress.usage.cost
  const { steps, toolCalls, usage, last } = progress
  const { outcome, reason } = way
  await desk.ended({
    outcome,
    ...(reason !== undefined && { reason }),
    steps,
    toolCalls,
    ...(steps > 0 && { usage }),
    durationMs: Math.max(0, desk.now() - startedAt),
    ...(last && { answer: last.id }),
  })
  desk.live({ type: 'run-end', outcome, ...(reason !== undefined && { reason }) })
  const { id: sessionId, conversationId } = desk.head
  return {
    runId: desk.runId,
    sessionId,
    conversationId,
    ...way,
    text: last?.content ?? '',
    ...(last && { messageId: last.id }),
    steps,
    toolCalls,
    usage,
  }
}

async function answered(desk: RunDesk, input: RunInput, progress: Progress): Promise<Way> {
  const { signal } = input
  let next = await takenUp(desk, input)
  if (next.state === 'answered') progress.last = next.message
  while (next.state !== 'answered') {
    if (progress.steps >= input.maxSteps)
      return { outcome: 'failed', reason: `it took more than ${input.maxSteps} steps` }
    if (signal.aborted) return stopped(input)
    progress.steps++
    const { answer, seen, budget } = await askModel(desk, next.trigger, input)
    count(progress, answer)
    const message = await store(desk, input, { answer, seen })
    if (message) progress.last = message
    if (!answer.ok) return failedWay(answer.failure, input)
    if (answer.outsideIds) await desk.link(answer.outsideIds)
    if (!message) return { outcome: 'failed', reason: 'the model gave an empty answer' }
    const calls = answer.content.filter(part => part.type === 'tool-call')
    if (calls.length === 0) {
      const said = newcomer(await desk.messagesAfter(seen), desk)
      if (!said) return { outcome: 'done' }
      next = { state: 'asked', trigger: said }
      continue
    }
    progress.toolCalls += calls.length
    const done = await runCalls(desk, { ...input.calls, calls, tools: input.tools, signal, budget, asking: message })
    if (signal.aborted) return stopped(input)
    if (done.completed !== undefined) return { outcome: 'done', completed: done.completed }
    next = { state: 'asked', trigger: done.last }
  }
  return { outcome: 'done' }
}

function count(progress: Progress, answer: ModelAnswer): void {
  const usage = answer.ok ? answer.usage : answer.failure.usage
  if (!usage) return
  progress.usage = addUsage(progress.usage, usage)
  if (usage.cost === undefined) progress.isPriced = false
}

/** Stores an answer, complete or interrupted, unless it is empty, and acknowledges what the model was sent. */
async function store(
  desk: RunDesk,
  { model, trigger }: RunInput,
  { answer, seen }: Pick<Step, 'answer' | 'seen'>,
): Promise<Message | undefined> {
  const parts = answer.content.map(partOf)
  if (!parts.some(part => part.type === 'tool-call' || (part.type === 'text' && part.text.trim() !== '')))
    return undefined
  const usage = answer.ok ? answer.usage : answer.failure.usage
  const cutOff = answer.ok ? (answer.stopReason === 'length' ? 'length' : undefined) : answer.failure.kind
  return desk.say({
    role: 'assistant',
    parts,
    replyTo: trigger.id,
    // A message of calls only is not shown in the chat.
    ...(!parts.some(part => part.type === 'text') && { internal: true }),
    // A custom model may report more fields than the log knows.
    ...(usage && { usage: Usage.parse(usage) }),
    metadata: { run: desk.runId, model: model.name, ...(cutOff !== undefined && { cutOff }) },
    acknowledges: seen,
  })
}

function partOf(part: AnswerPart): Part {
  if (part.type !== 'tool-call') return part
  const { callId, name, input } = part
  return { type: 'tool-call', callId, name, input }
}

function stopped(input: RunInput): Way {
  if (input.isSuperseded()) return { outcome: 'superseded', reason: 'another run took its place' }
  return { outcome: 'cancelled', reason: 'it was stopped' }
}

function failedWay(failure: ModelFailure, input: RunInput): Way {
  if (failure.kind === 'cancelled' && input.signal.aborted) return stopped(input)
  return { outcome: 'failed', reason: `${failure.kind}: ${failure.message}`, failure }
}

function wayOf(error: unknown, input: RunInput): Way {
  if (error instanceof LeaseLost) return { outcome: 'superseded', reason: 'its lease was lost' }
  if (input.signal.aborted) return stopped(input)
  return { outcome: 'failed', reason: error instanceof Error ? error.message : String(error) }
}
