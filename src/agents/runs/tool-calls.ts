/**
 * Runs the calls of one answer in parallel. Each result is stored as soon as it exists, so that a call that ran always
 * has one. Failures and stops are results, too.
 */
import type { ToolCallPart } from '../../log/events/part.ts'
import type { Message } from '../../log/views/message.ts'
import type { AnswerPart } from '../../models/answer.ts'
import { shorten, type Tool, type ToolCall, type ToolOutput } from '../tools/tool.ts'
import type { RunPort } from './run-port.ts'

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

interface CallResults {
  /** The message with the newest result. */
  last: Message
  /** The text the agent completed with. */
  completed?: string
}

/** Share of the budget for the results of one answer. A token of code has about three characters. */
const resultShare = 1 / 3
const charactersPerToken = 3

export async function runCalls(port: RunPort, input: RunCalls): Promise<CallResults> {
  const { calls, budget, asking } = input
  const characters = Math.max(500, Math.floor((budget * resultShare * charactersPerToken) / calls.length))
  let completed: string | undefined
  const stored = await Promise.all(
    calls.map(async call => {
      const output = await outputOf(port, input, call, characters)
      if (output.ends) completed = completionText(call, asking)
      return storeResult(port, call, output)
    }),
  )
  const last = stored.reduce((newest, message) => (message.version > newest.version ? message : newest))
  return { last, ...(completed !== undefined && { completed }) }
}

export function storeResult(
  port: RunPort,
  { callId, name }: Pick<ToolCallPart, 'callId' | 'name'>,
  { text, isError = false }: ToolOutput,
): Promise<Message> {
  return port.addMessage({
    role: 'user',
    author: 'tools',
    parts: [{ type: 'tool-result', callId, name, output: text, ...(isError && { isError }) }],
    internal: true,
    metadata: { run: port.runId },
  })
}

async function outputOf(
  port: RunPort,
  { tools, signal, call, asking }: RunCalls,
  { callId, name, input, problem }: RunCalls['calls'][number],
  characters: number,
): Promise<ToolOutput> {
  const tool = tools.find(candidate => candidate.name === name)
  if (problem !== undefined) return { text: `The arguments could not be read: ${problem}`, isError: true }
  if (!tool) {
    const names = tools.map(candidate => candidate.name).join(', ')
    return { text: `There is no tool "${name}". Available: ${names || 'none'}.`, isError: true }
  }
  if (signal.aborted) return { text: 'Not run: the run was stopped.', isError: true }
  port.live({ type: 'tool-start', callId, name, input })
  let output: ToolOutput
  try {
    const result = await tool.run(input, call({ callId, signal, asking, characters }))
    output = typeof result === 'string' ? { text: result } : result
  } catch (error) {
    if (signal.aborted) output = { text: 'The run was stopped before the tool finished.', isError: true }
    else output = { text: error instanceof Error ? error.message : String(error), isError: true }
  }
  output = { ...output, text: shorten(output.text, characters) }
  port.live({ type: 'tool-end', callId, name, text: output.text, isError: output.isError ?? false })
  return output
}

/** Returns the summary in the call's input, or else the message's text. */
function completionText({ input }: { input: unknown }, { content }: Message): string {
  const summary = typeof input === 'object' && input !== null && 'summary' in input ? input.summary : undefined
  return typeof summary === 'string' ? summary : content
}
