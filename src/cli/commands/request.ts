/** `colloquy request`: what the agent of a session would be sent, and why that and nothing else. Sends nothing. */
import { type Command, Option } from 'commander'
import type { AgentRequest, Colloquy, Session } from '../../index.ts'
import type { Strategy } from '../../log/events/strategy.ts'
import { sessionOf } from '../lookup/session-of.ts'
import { reading } from '../open.ts'
import { examples, type GlobalOptions, wholeNumber } from '../options.ts'
import { errorStyle, note, print, printJson, printLines } from '../terminal/terminal.ts'
import { count } from '../text/format.ts'
import { ledgerLines } from '../text/ledger.ts'
import { promptText, requestLines } from '../text/request-lines.ts'

const formats = ['messages', 'prompt'] as const
const strategies = ['checkpoint', 'sliding_window', 'summarization', 'recent'] as const

interface RequestCommandOptions extends GlobalOptions {
  message?: string
  explain?: boolean
  format: (typeof formats)[number]
  budget?: number
  strategy?: Strategy['name']
  recall: boolean
}

/** A message that waits for its answer longer than this has been passed over. */
const messagesLookedAt = 200

export function addRequest(program: Command): void {
  program
    .command('request')
    .summary('show what an agent would be sent')
    .description(
      'Shows what the agent of a session would be sent for a message, and with --explain what was kept, trimmed, summarised or left out. Sends nothing and records nothing. Control characters are shown as escapes; --json has every byte.',
    )
    .argument('<session>', 'id of a session')
    .option('--message <TEXT>', "the user's message (default: the newest one, if it is unanswered)")
    .option('--explain', 'the account of it instead of its text')
    .addOption(new Option('--format <FORMAT>', 'which rendering').choices(formats).default('messages'))
    .option('--budget <N>', 'how many tokens it may have', wholeNumber)
    .addOption(new Option('--strategy <NAME>', 'how history is fitted into the budget').choices(strategies))
    .option('--no-recall', 'do not quote older messages that have the words of the new one')
    .addHelpText(
      'after',
      examples(
        ['request ID', 'for the message that waits for its answer'],
        ["request ID --message 'What is left?' --explain", 'what is in it, and why'],
        ["request ID --message 'Next?' --format prompt", 'as a system prompt and a user prompt'],
        ["request ID --message 'Next?' --budget 8000 --strategy recent", 'as it would be with other settings'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<RequestCommandOptions>()
      await reading(options, async colloquy => {
        const session = await sessionOf(colloquy, id)
        const message = await messageFor(colloquy, session, options.message)
        if (message === undefined) {
          command.error(
            `error: ${options.message === undefined ? 'no message of this session waits for an answer' : 'the message is empty'}; say with --message TEXT what the request is for.`,
          )
        }
        const { budget, recall, strategy } = options
        const request = await colloquy.sessions.previewRequest(session.id, message, {
          ...(budget !== undefined && { budget }),
          ...(strategy !== undefined && { strategy: await completed(strategy) }),
          ...(!recall && { recall }),
        })
        await show(request, session, options)
      })
    })
}

/** The text that was given, or else the newest message of a user that the agent has not spoken after. */
async function messageFor(
  { sessions }: Colloquy,
  { id, agentName }: Session,
  given: string | undefined,
): Promise<string | { messageId: string } | undefined> {
  if (given !== undefined) return given.trim() === '' ? undefined : given
  const recent = await sessions.getRecentMessages(id, messagesLookedAt)
  const last = recent.findLast(({ role, author, content }) => author === agentName || (role === 'user' && content))
  return last && last.author !== agentName ? { messageId: last.id } : undefined
}

/** With what a strategy has by default. Loaded here, for the reason that `open.ts` gives. */
async function completed(name: Strategy['name']): Promise<Strategy> {
  const { Strategy } = await import('../../log/events/strategy.ts')
  return Strategy.parse({ name })
}

async function show(request: AgentRequest, session: Session, options: RequestCommandOptions): Promise<void> {
  const { systemPrompt, userPrompt, system, messages, ...account } = request
  const { format, explain, json } = options
  if (json) {
    const rendering = format === 'prompt' ? { systemPrompt, userPrompt } : { system, messages }
    return printJson({ ...account, ...(!explain && { format, ...rendering }) })
  }
  if (explain) return printLines(ledgerLines(request, session))
  await (format === 'prompt' ? print(promptText(request)) : printLines(requestLines(request)))
  const { totalTokens, budget, checkpoint, omitted } = request
  const facts = [
    `${count(totalTokens)} of ${count(budget, 'token')}`,
    checkpoint === undefined ? '' : `on checkpoint ${checkpoint}`,
    omitted === 0 ? '' : `${count(omitted, 'message')} left out`,
    '--explain says why',
  ]
  note(errorStyle.dim(facts.filter(Boolean).join(' · ')))
}
