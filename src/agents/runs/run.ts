/**
 * One run of an agent: calls the model, runs the tools it asks for, and calls the model again until it asks for none
 * and no new message has arrived. The caller holds the session's lease.
 *
 * Everything is in the log before the next step, so an interrupted run can be resumed at any point. How a run ends is
 * always recorded. Messages that arrive meanwhile are part of the next step, and none is
 * answered twice.
 */
import { LeaseLost } from '../../errors.ts'
import { Usage } from '../../log/events/message.ts'
import type { Part } from '../../log/events/part.ts'
import type { RunOutcome } from '../../log/events/run.ts'
import type { Message } from '../../log/views/message.ts'
import { addUsage } from '../../log/views/runs.ts'
import type { AnswerPart, ModelAnswer } from '../../models/answer.ts'
import type { ModelFailure } from '../../models/model.ts'
import { newestMessageFor, type RunInput } from './run-input.ts'
import type { RunPort } from './run-port.ts'
import { startingPoint } from './starting-point.ts'
import { askModel, type Step } from './step.ts'
import { runCalls } from './tool-calls.ts'

export interface RunResult {
  runId: string
  sessionId: string
  conversationId: string
  outcome: RunOutcome
  /** Why it did not end `done`. */
  reason?: string
  /** The model's failure, if that ended the run. */
  failure?: ModelFailure
  /** The agent's last text, including that of an interrupted answer. */
  text: string
  /** The message with that text. */
  messageId?: string
  /** The summary in the call of `complete`, or else the text of that message. */
  completed?: string
  steps: number
  toolCalls: number
  usage: Usage
}

type RunEnd = Pick<RunResult, 'outcome' | 'reason' | 'failure' | 'completed'>

interface Progress {
  steps: number
  toolCalls: number
  usage: Usage
  /** False after a call without a known price: the sum then has no cost. */
  isPriced: boolean
  /** The agent's newest answer. */
  last: Message | undefined
}

export async function run(port: RunPort, input: RunInput): Promise<RunResult> {
  const startedAt = port.now()
  const progress: Progress = { steps: 0, toolCalls: 0, usage: { input: 0, output: 0 }, isPriced: true, last: undefined }
  await port.recordStart({ trigger: input.trigger.version, model: input.model.name })
  port.live({ type: 'run-start', model: input.model.name })
  let end: RunEnd
  try {
    end = await runSteps(port, input, progress)
  } catch (error) {
    end = endAfterError(error, input)
  }
  if (!progress.isPriced) delete progress.usage.cost
  const { steps, toolCalls, usage, last } = progress
  const { outcome, reason } = end
  await port.recordEnd({
    outcome,
    ...(reason !== undefined && { reason }),
    steps,
    toolCalls,
    ...(steps > 0 && { usage }),
    durationMs: Math.max(0, port.now() - startedAt),
    ...(last && { answer: last.id }),
  })
  port.live({ type: 'run-end', outcome, ...(reason !== undefined && { reason }) })
  const { id: sessionId, conversationId } = port.head
  return {
    runId: port.runId,
    sessionId,
    conversationId,
    ...end,
    text: last?.content ?? '',
    ...(last && { messageId: last.id }),
    steps,
    toolCalls,
    usage,
  }
}

async function runSteps(port: RunPort, input: RunInput, progress: Progress): Promise<RunEnd> {
  const { signal } = input
  let next = await startingPoint(port, input)
  if (next.state === 'answered') progress.last = next.message
  while (next.state !== 'answered') {
    if (progress.steps >= input.maxSteps)
      return { outcome: 'failed', reason: `it took more than ${input.maxSteps} steps` }
    if (signal.aborted) return endAfterStop(input)
    progress.steps++
    const { answer, seen, budget } = await askModel(port, next.trigger, input)
    addAnswerUsage(progress, answer)
    const message = await storeAnswer(port, input, { answer, seen })
    if (message) progress.last = message
    if (!answer.ok) return endAfterFailure(answer.failure, input)
    if (answer.outsideIds) await port.link(answer.outsideIds)
    if (!message) return { outcome: 'failed', reason: 'the model gave an empty answer' }
    const calls = answer.content.filter(part => part.type === 'tool-call')
    if (calls.length === 0) {
      const newMessage = newestMessageFor(port.head, await port.messagesAfter(seen))
      if (!newMessage) return { outcome: 'done' }
      next = { state: 'unanswered', trigger: newMessage }
      continue
    }
    progress.toolCalls += calls.length
    const { completed, last } = await runCalls(port, {
      ...input.calls,
      calls,
      tools: input.tools,
      signal,
      budget,
      asking: message,
    })
    if (signal.aborted) return endAfterStop(input)
    if (completed !== undefined) return { outcome: 'done', completed }
    next = { state: 'unanswered', trigger: last }
  }
  return { outcome: 'done' }
}

function addAnswerUsage(progress: Progress, answer: ModelAnswer): void {
  const usage = answer.ok ? answer.usage : answer.failure.usage
  if (!usage) return
  progress.usage = addUsage(progress.usage, usage)
  if (usage.cost === undefined) progress.isPriced = false
}

/**
 * Stores an answer, complete or interrupted, and with it acknowledges the messages the model was sent. Does neither for
 * an empty answer.
 */
async function storeAnswer(
  port: RunPort,
  { model, trigger }: RunInput,
  { answer, seen }: Pick<Step, 'answer' | 'seen'>,
): Promise<Message | undefined> {
  const parts = answer.content.map(partOf)
  if (!parts.some(part => part.type === 'tool-call' || (part.type === 'text' && part.text.trim() !== '')))
    return undefined
  const usage = answer.ok ? answer.usage : answer.failure.usage
  const cutOff = answer.ok ? (answer.stopReason === 'length' ? 'length' : undefined) : answer.failure.kind
  return port.addMessage({
    role: 'assistant',
    parts,
    replyTo: trigger.id,
    // A message with tool calls and no text is not shown in the chat.
    ...(!parts.some(part => part.type === 'text') && { internal: true }),
    // A custom model may report more fields than the log knows.
    ...(usage && { usage: Usage.parse(usage) }),
    metadata: { run: port.runId, model: model.name, ...(cutOff !== undefined && { cutOff }) },
    acknowledges: seen,
  })
}

function partOf(part: AnswerPart): Part {
  if (part.type !== 'tool-call') return part
  const { callId, name, input } = part
  return { type: 'tool-call', callId, name, input }
}

function endAfterStop(input: RunInput): RunEnd {
  if (input.isSuperseded()) return { outcome: 'superseded', reason: 'another run took its place' }
  return { outcome: 'cancelled', reason: 'it was stopped' }
}

function endAfterFailure(failure: ModelFailure, input: RunInput): RunEnd {
  if (failure.kind === 'cancelled' && input.signal.aborted) return endAfterStop(input)
  return { outcome: 'failed', reason: `${failure.kind}: ${failure.message}`, failure }
}

function endAfterError(error: unknown, input: RunInput): RunEnd {
  if (error instanceof LeaseLost) return { outcome: 'superseded', reason: 'its lease was lost' }
  if (input.signal.aborted) return endAfterStop(input)
  return { outcome: 'failed', reason: error instanceof Error ? error.message : String(error) }
}
