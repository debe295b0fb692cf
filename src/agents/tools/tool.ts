/**
 * A tool: a name and a schema for the model, and a function. Its failures are results for the model, never exceptions
 * of the run.
 */
import { z } from 'zod'
import type { ModelTool } from '../../models/model.ts'
import type { ToolPort } from './tool-port.ts'

export interface Tool {
  readonly name: string
  readonly description: string
  readonly inputSchema: ModelTool['inputSchema']
  /** Validates the input and runs the tool. Throws errors whose message the model is shown. */
  run(input: unknown, call: ToolCall): Promise<ToolOutput | string>
}

export interface ToolOutput {
  text: string
  isError?: boolean
  /** The tool ends the run: the model is not called again. */
  ends?: boolean
}

/** One call of a tool: the caller, its context, and what it may use. */
export interface ToolCall {
  callId: string
  /** The work tree: nothing outside it is touched. */
  root: string
  agent: string
  agentType: string
  signal: AbortSignal
  limits: ToolLimits
  port: ToolPort
}

export interface ToolLimits {
  /** Time-out of a command. Default 2 minutes. */
  commandMs: number
  /** Maximum characters of a result. Default 30,000; less with a small budget. */
  characters: number
  /** Commands allowed without asking, each the first words of a command line; `*` allows any. */
  commands: readonly string[]
  /** Time a person has to answer. Default a day. */
  answerWithinMs: number
}

/** Tells the model why its call was refused. */
export class ToolRefused extends Error {}

/** Makes a tool with a schema for its input. Invalid arguments are reported to the model with the expected ones. */
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
    run(rawInput, call) {
      const parsed = input.safeParse(rawInput ?? {})
      if (!parsed.success) throw new ToolRefused(`The arguments are invalid: ${problemsOf(parsed.error)}`)
      return run(parsed.data, call)
    },
  }
}

function problemsOf({ issues }: z.ZodError): string {
  return issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
    .join('; ')
}

/** Keeps both ends of a long text, because names are at its start and errors at its end. */
export function shorten(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text
  const head = text.slice(0, Math.floor(maxCharacters * 0.6)).toWellFormed()
  const tail = text.slice(text.length - Math.floor(maxCharacters * 0.4)).toWellFormed()
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
}
