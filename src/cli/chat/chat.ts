/**
 * `colloquy chat`: talks with an agent. On a terminal line by line, with its answer as it comes; without one whatever is
 * on standard input is the message, and the answer goes to standard output.
 */
import { text as readAll } from 'node:stream/consumers'
import type { Command } from 'commander'
import type { Colloquy, Session, SessionOptions } from '../../index.ts'
import { exitCode } from '../failure.ts'
import { making } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine, safeText } from '../terminal/safe-text.ts'
import { errorStyle, note, print, printJson } from '../terminal/terminal.ts'
import { answered } from './chat-answer.ts'
import { chatOnTerminal } from './chat-terminal.ts'

interface ChatOptions extends GlobalOptions {
  agent: string
  feature?: string
  task?: string
  thread?: string
  model?: string
}

/** A message through a pipe comes without a person at the keyboard. */
const pipedAnswerWithinMs = 60_000

export function addChat(program: Command): void {
  program
    .command('chat')
    .summary('talk with an agent')
    .description(
      'Talks with an agent about a feature, a task or whatever a thread is about. Both sides are in the log, and the next chat goes on where this one ended. /help lists what can be typed beside messages. A message on standard input is answered on standard output.',
    )
    .option('--agent <NAME>', 'pm, dev, qa, harness, merge, or a name of yours', 'pm')
    .option('--feature <ID>', 'about a feature')
    .option('--task <ID>', 'about a task of the feature')
    .option('--thread <ID>', 'about anything else (default: the thread "chat")')
    .option(
      '--model <NAME>',
      "anthropic:…, openai:…, ollama:…, 'command:claude -p', scripted:FILE (default: as configured)",
    )
    .addHelpText(
      'after',
      examples(
        ['chat --feature login', 'with the project manager about a feature'],
        ['chat --agent dev --feature login --task t1', 'with the developer of a task'],
        ["chat --model 'command:claude -p'", 'any program that reads a prompt and prints its answer'],
        ['chat --feature login < question.txt', 'one message and its answer'],
      ),
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ChatOptions>()
      if (options.task !== undefined && options.feature === undefined) {
        command.error('error: a task belongs to a feature; add --feature ID.')
      }
      await making(options, async colloquy => {
        const session = await colloquy.sessions.getOrCreateSession(sessionFor(options))
        if (process.stdin.isTTY && process.stdout.isTTY) return chatOnTerminal(colloquy, session, options)
        const message = (await readAll(process.stdin)).trim()
        if (message === '') command.error('error: there is no message on standard input.')
        await answerOnce(colloquy, session, message, options)
      })
    })
}

function sessionFor({ agent, feature, task, thread = 'chat' }: ChatOptions): SessionOptions {
  const who = { agentType: agent }
  if (feature !== undefined && task !== undefined) return { ...who, type: 'task', featureId: feature, taskId: task }
  return feature !== undefined
    ? { ...who, type: 'feature', featureId: feature }
    : { ...who, type: 'thread', threadId: thread }
}

async function answerOnce(colloquy: Colloquy, session: Session, message: string, options: ChatOptions): Promise<void> {
  let end = '\n'
  const words: Promise<void>[] = []
  const write = (text: string) => {
    if (text === '') return
    end = text.at(-1)!
    words.push(print(safeText(text)))
  }
  const result = await answered(colloquy, session, message, {
    ...options,
    answerWithinMs: pipedAnswerWithinMs,
    onPart: part => {
      if (options.json) return
      if (part.type === 'text-start' && end !== '\n') write('\n')
      if (part.type === 'text-delta') write(part.text)
      if (part.type === 'question') {
        note(safeLine(`${session.agentName} asks: ${part.text}`))
        note(`Answer with: colloquy answer ${part.questionId} …`)
      }
    },
  })
  if (!options.json && end !== '\n') write('\n')
  await Promise.all(words)
  if (options.json) await printJson(result)
  if (result.outcome === 'done') return
  if (!options.json) note(`${errorStyle.red('colloquy:')} ${safeLine(`${result.outcome}: ${result.reason ?? ''}`)}`)
  process.exitCode = exitCode.failed
}
