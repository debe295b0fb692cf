/** Runs a program in the work tree, without a shell: allowed commands at once, others after a person's approval. */
import { z } from 'zod'
import { commandWords, isAllowed } from './command-words.ts'
import { runProcess } from './process.ts'
import { shorten, type ToolCall, ToolRefused, tool } from './tool.ts'

export const runCommandTool = tool({
  name: 'run_command',
  description:
    'Runs a program in the project root and returns its output. There is no shell: no pipes, no &&, no redirection, no variables; quotes work. Some commands need the approval of a person.',
  input: z.strictObject({
    command: z.string().min(1).max(10_000).describe('the command line, such as: npm test -- login'),
    seconds: z.int().positive().optional().describe('time limit'),
  }),
  async run({ command, seconds }, call) {
    const parsed = commandWords(command)
    if ('problem' in parsed) throw new ToolRefused(parsed.problem)
    if (!isAllowed(parsed.words, call.limits.commands)) await askApproval(command, call)
    const ms = Math.min(seconds === undefined ? call.limits.commandMs : seconds * 1000, call.limits.commandMs)
    return runProgram(parsed.words, ms, call)
  },
})

async function askApproval(command: string, { callId, agent, limits, port, signal }: ToolCall): Promise<void> {
  const question = {
    kind: 'approval' as const,
    text: `${agent} wants to run: ${command}`,
    choices: ['yes', 'no'],
    default: 'no',
    withinMs: limits.answerWithinMs,
  }
  const { answer, timedOut } = await port.ask(callId, question, signal)
  if (/^(y|yes|ok|approve|approved|allow)$/i.test(answer.trim())) return
  throw new ToolRefused(
    timedOut
      ? 'Not run: nobody approved it in time.'
      : `Not run: a person refused it${isPlainNo(answer) ? '.' : `: ${answer}`}`,
  )
}

function isPlainNo(answer: string): boolean {
  return /^(n|no|deny|denied)?$/i.test(answer.trim())
}

async function runProgram(
  words: readonly string[],
  timeMs: number,
  { root, signal, limits }: ToolCall,
): Promise<{ text: string; isError: boolean }> {
  const [program = '', ...args] = words
  const { exitCode, output, endedBy, problem } = await runProcess(
    { program, args },
    {
      folder: root,
      timeMs,
      signal,
      // Bounds memory, and still leaves enough for both ends of the result.
      keep: text => (text.length > limits.characters * 4 ? shorten(text, limits.characters * 2) : text),
    },
  )
  if (problem !== undefined) return { text: `The program could not be started: ${problem}`, isError: true }
  const text = shorten(output.trimEnd(), limits.characters)
  if (endedBy !== undefined) {
    const why = endedBy === 'time' ? `it ran longer than ${timeMs / 1000} s` : 'the run was stopped'
    return { text: `The program was killed: ${why}.\n${text}`.trimEnd(), isError: true }
  }
  const status = exitCode === 0 ? '' : `[exit code ${exitCode}]\n`
  return { text: `${status}${text}` || '(no output)', isError: exitCode !== 0 }
}
