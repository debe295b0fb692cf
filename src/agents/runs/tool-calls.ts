/**
 * Runs the calls of one answer in parallel. Each result is stored as soon as it exists, so that a call that ran always
 * has one. Failures and stops are results, too.
 */
import type { ToolCallPart } from '../../log/events/part.ts'
import type { Message } from '../../log/views/message.ts'
import type { AnswerPart } from '../../models/answer.ts'
import { shortened, type Tool, type ToolCall, type ToolOutput } from '../tools/tool.ts'
import type { RunDesk } from './desk.ts'

export interface RunCalls {
  calls: ReadonlyArray<Extract<AnswerPart, { type: 'tool-call' }>>
  tools: readonly Tool[]
  signal: AbortSignal
  /** Budget of the request: all results together take at most a share of it. */
  budget: number
  /** The message with the calls. */
  asking: Message
  call(call: Pick<ToolCall, 'callId' | 'signal'> & { asking: Message; characters: number }): ToolCall
}

interface CallsDone {
  /** The message with the newest result. */
  last: Message
  /** The text the agent completed with. */
  completed?: string
}

/** Share of the budget for the results of one answer. A token of code has about three characters. */
const resultShare = 1 / 3
const charactersPerToken = 3

export async function runCalls(desk: RunDesk, work: RunCalls): Promise<CallsDone> {
  const { calls } = work
  const characters = Math.max(500, Math.floor((work.budget * resultShare * charactersPerToken) / calls.length))
  let completed: string | undefined
  const stored = await Promise.all(
    calls.map(async call => {
      const output = await outputOf(call, work, characters, desk)
      if (output.ends) completed = completion(call, work.asking)
      return storeResult(desk, call, output)
    }),
  )
  const last = stored.reduce((newest, one) => (one.version > newest.version ? one : newest))
  return { last, ...(completed !== undefined && { completed }) }
}

export function storeResult(
  desk: RunDesk,
  { callId, name }: Pick<ToolCallPart, 'callId' | 'name'>,
  { text, isError = false }: ToolOutput,
): Promise<Message> {
  return desk.say({
    role: 'user',
    author: 'tools',
    parts: [{ type: 'tool-result', callId, name, output: text, ...(isError && { isError }) }],
    internal: true,
    metadata: { run: desk.runId },
  })
}

async function outputOf(
  { callId, name, input, problem }: RunCalls['calls'][number],
  { tools, signal, call, asking }: RunCalls,
  characters: number,
  desk: RunDesk,
): Promise<ToolOutput> {
  const found = tools.find(tool => tool.name === name)
  if (problem !== undefined) return { text: `The arguments could not be read: ${problem}`, isError: true }
  if (!found) {
    const known = tools.map(tool => tool.name).join(', ')
    return { text: `There is no tool "${name}". There are: ${known || 'none'}.`, isError: true }
  }
  if (signal.aborted) return { text: 'Not run: the run was stopped.', isError: true }
  desk.live({ type: 'tool-start', callId, name, input })
  let output: ToolOutput
  try {
    const made = await found.run(input, call({ callId, signal, asking, characters }))
    output = typeof made === 'string' ? { text: made } : made
  } catch (error) {
    if (signal.aborted) output = { text: 'The run was stopped before it was done.', isError: true }
    else output = { text: error instanceof Error ? error.message : String(error), isError: true }
  }
  output = { ...output, text: shortened(output.text, characters) }
  desk.live({ type: 'tool-end', callId, name, text: output.text, isError: output.isError ?? false })
  return output
}

/** Returns the text in the tool's input, or else the message's text. */
function completion({ input }: { input: unknown }, { content }: Message): string {
  const summary = typeof input === 'object' && input !== null && 'summary' in input ? input.summary : undefined
  return typeof summary === 'string' ? summary : content
}
