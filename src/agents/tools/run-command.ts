/** Runs a program in the work tree, without a shell: allowed commands at once, others after a person's approval. */
import { z } from 'zod'
import { commandWords, isAllowed } from './command-words.ts'
import { runProcess } from './process.ts'
import { shortened, type ToolCall, ToolRefused, tool } from './tool.ts'

export const runCommandTool = tool({
  name: 'run_command',
  description:
    'Runs a program in the project root and gives its output. There is no shell: no pipes, no &&, no redirection, no variables; quotes work. Some commands need the leave of a person.',
  input: z.strictObject({
    command: z.string().min(1).max(10_000).describe('the command line, such as: npm test -- login'),
    seconds: z.int().positive().optional().describe('how long it may take'),
  }),
  async run({ command, seconds }, call) {
    const words = commandWords(command)
    if ('problem' in words) throw new ToolRefused(words.problem)
    if (!isAllowed(words.words, call.limits.commands)) await leaveFor(command, call)
    const ms = Math.min(seconds === undefined ? call.limits.commandMs : seconds * 1000, call.limits.commandMs)
    return runProgram(words.words, ms, call)
  },
})

async function leaveFor(command: string, { callId, agent, limits, desk, signal }: ToolCall): Promise<void> {
  const text = `${agent} wants to run: ${command}`
  const asked = {
    kind: 'approval' as const,
    text,
    choices: ['yes', 'no'],
    default: 'no',
    withinMs: limits.answerWithinMs,
  }
  const { answer, timedOut } = await desk.ask(callId, asked, signal)
  if (/^(y|yes|ok|approve|approved|allow)$/i.test(answer.trim())) return
  throw new ToolRefused(
    timedOut ? 'Nobody gave leave to run it in time.' : `It may not be run${isPlainNo(answer) ? '.' : `: ${answer}`}`,
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
      // Four times what is shown: enough for both ends, and a limit on memory.
      keep: text => (text.length > limits.characters * 4 ? shortened(text, limits.characters * 2) : text),
    },
  )
  if (problem !== undefined) return { text: `It could not be started: ${problem}`, isError: true }
  const said = shortened(output.trimEnd(), limits.characters)
  if (endedBy !== undefined) {
    const why = endedBy === 'time' ? `after ${Math.round(timeMs / 1000)} seconds.` : 'the run was stopped.'
    return { text: `It was ended${endedBy === 'time' ? ' ' : ': '}${why}\n${said}`.trimEnd(), isError: true }
  }
  const status = exitCode === 0 ? '' : `[exit code ${exitCode}]\n`
  return { text: `${status}${said}` || '(no output)', isError: exitCode !== 0 }
}
