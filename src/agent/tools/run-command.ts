/**
 * Runs a program in the work tree, without a shell: what the allow-list of the agent's type names at once, anything else
 * when a person says yes.
 */
import { spawn } from 'node:child_process'
import { z } from 'zod'
import { commandWords, isAllowed } from './command-words.ts'
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

function runProgram(
  words: readonly string[],
  ms: number,
  { root, signal, limits }: ToolCall,
): Promise<{ text: string; isError: boolean }> {
  const [program = '', ...args] = words
  return new Promise(resolve => {
    // A group of its own, so that what it starts ends with it.
    const child = spawn(program, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: environment(),
    })
    let output = ''
    let ended: string | undefined
    // Four times what is shown: enough to keep both ends, and a bound on what is held.
    const most = limits.characters * 4
    const take = (text: string) => {
      output += text
      if (output.length > most) output = shortened(output, limits.characters * 2)
    }
    child.stdout.setEncoding('utf8').on('data', take)
    child.stderr.setEncoding('utf8').on('data', take)
    const kill = (why: string) => {
      ended ??= why
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        child.kill('SIGKILL')
      }
    }
    const timer = setTimeout(() => kill(`It was ended after ${Math.round(ms / 1000)} seconds.`), ms)
    const stop = () => kill('It was ended: the run was stopped.')
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    const finish = (text: string, isError: boolean) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      resolve({ text, isError })
    }
    child.on('error', error => finish(`It could not be started: ${error.message}`, true))
    child.on('close', code => {
      const said = shortened(output.trimEnd(), limits.characters)
      if (ended !== undefined) return finish(`${ended}\n${said}`.trimEnd(), true)
      const status = code === 0 ? '' : `[exit code ${code}]\n`
      finish(`${status}${said}` || '(no output)', code !== 0)
    })
  })
}

/** Keys of providers and the like are no business of what an agent runs. */
function environment(): NodeJS.ProcessEnv {
  const secret = /(_KEY|_TOKEN|_SECRET|PASSWORD|CREDENTIALS?)$/i
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !secret.test(name)))
}
