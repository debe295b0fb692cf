/**
 * What a tool is: a name and a schema for the model, and a function for us. What goes wrong in it is an answer to the
 * model, never a throw out of the run.
 */
import { z } from 'zod'
import type { ModelTool } from '../../models/model.ts'
import type { ToolDesk } from './desk.ts'

export interface Tool {
  readonly name: string
  readonly description: string
  readonly inputSchema: ModelTool['inputSchema']
  /** Checks what the model sent and runs. Throws what the model is to be told. */
  run(input: unknown, call: ToolCall): Promise<ToolOutput | string>
}

export interface ToolOutput {
  text: string
  isError?: boolean
  /** The agent says that it is done: nothing more is asked of the model. */
  ends?: boolean
}

/** One call of a tool: who calls, from where, and what it may use. */
export interface ToolCall {
  callId: string
  /** The work tree: nothing outside of it is touched. */
  root: string
  agent: string
  agentType: string
  signal: AbortSignal
  limits: ToolLimits
  desk: ToolDesk
}

export interface ToolLimits {
  /** How long a command may take. Default 2 minutes. */
  commandMs: number
  /** The most characters of a result. Default 30,000; less where the budget is small. */
  characters: number
  /** Commands that need no leave, each the first words of a command line; `*` is any. */
  commands: readonly string[]
  /** How long a person has to answer. Default a day. */
  answerWithinMs: number
}

/** Tells the model why its call was not done. */
export class ToolRefused extends Error {}

/** A tool with its input as a schema; broken arguments are told, with what they should have been. */
export function tool<I extends z.ZodType>({
  name,
  description,
  input,
  run,
}: {
  name: string
  description: string
  input: I
  run(input: z.output<I>, call: ToolCall): Promise<ToolOutput | string>
}): Tool {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>
  return {
    name,
    description,
    inputSchema,
    run(given, call) {
      const read = input.safeParse(given ?? {})
      if (!read.success) throw new ToolRefused(`The arguments do not fit: ${problemsOf(read.error)}`)
      return run(read.data, call)
    },
  }
}

function problemsOf({ issues }: z.ZodError): string {
  return issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
    .join('; ')
}

/** Both ends of a long text: names stand at its beginning, errors at its end. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  const head = text.slice(0, Math.floor(most * 0.6)).toWellFormed()
  const tail = text.slice(text.length - Math.floor(most * 0.4)).toWellFormed()
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
}
