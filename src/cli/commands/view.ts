/** `colloquy view`: what an agent of a conversation would be sent, now or as it was. Sends nothing, acknowledges nothing. */
import { type Command, Option } from 'commander'
import type { PastConversation } from '../../conversation/lifecycle/time-travel.ts'
import type { AgentReference } from '../../conversation/turns/agent-views.ts'
import type { AgentView, AgentViewOptions, Colloquy, Message } from '../../index.ts'
import { find } from '../lookup/find.ts'
import { reading } from '../open.ts'
import { examples, type GlobalOptions, wholeNumber } from '../options.ts'
import { errorStyle, note, print, printJson, printLines } from '../terminal/terminal.ts'
import { count } from '../text/format.ts'
import { ledgerLines } from '../text/ledger.ts'
import { promptText, requestLines } from '../text/request-lines.ts'

const formats = ['messages', 'prompt'] as const

interface ViewOptions extends GlobalOptions {
  agent?: string
  message?: string
  trigger?: string
  at?: number
  explain?: boolean
  format: (typeof formats)[number]
  budget?: number
}

/** A message that waits for its answer longer than this has been passed over. */
const messagesLookedAt = 200

export function addView(program: Command): void {
  program
    .command('view')
    .summary('show a conversation as one of its agents sees it')
    .description(
      'Shows what an agent of a conversation would be sent: what it knows, what came while it was away, and last what it is to answer. Sends, records and acknowledges nothing; an agent that is not there yet is seen as it would join. Control characters are shown as escapes; --json has every byte.',
    )
    .argument('<id>', 'id of a conversation, or of a session on it')
    .option('--agent <NAME>', 'the agent (default: the one whose session it is)')
    .option('--message <TEXT>', 'what it is to answer (default: the newest message for it, if it is unanswered)')
    .addOption(new Option('--trigger <ID>', 'the message it is to answer').conflicts('message'))
    .option('--at <VERSION>', 'as it was at this version', wholeNumber)
    .option('--explain', 'the account of it instead of its text')
    .addOption(new Option('--format <FORMAT>', 'which rendering').choices(formats).default('messages'))
    .option('--budget <N>', 'how many tokens it may have', wholeNumber)
    .addHelpText(
      'after',
      examples(
        ['view ID --agent qa', 'for the message that waits for its answer'],
        ['view SESSION', 'by the id of its session'],
        ["view ID --agent qa --message 'Is it done?'", 'for a message that nobody has said yet'],
        ['view ID --agent qa --at 120', 'what it would have been sent at version 120'],
        ['view ID --agent qa --explain', 'what is in it, what is left out, and why'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<ViewOptions>()
      await reading(options, async colloquy => {
        const viewer = await viewerOf(colloquy, id, options, command)
        const { conversationId, name, reference } = viewer
        const past = options.at === undefined ? undefined : await colloquy.conversations.at(conversationId, options.at)
        const trigger = await triggerOf(colloquy, viewer, past, options)
        if (trigger === undefined) {
          command.error(
            `error: ${options.message === undefined ? `no message waits for an answer of ${name}` : 'the message is empty'}; say with --message TEXT or --trigger ID what it is to answer.`,
          )
        }
        const wanted: AgentViewOptions = { trigger, ...(options.budget !== undefined && { budget: options.budget }) }
        await show(
          past
            ? await past.view(reference, wanted)
            : await colloquy.conversations.previewAgentMessages(conversationId, reference, wanted),
          options,
        )
      })
    })
}

/** The agent of the view. */
interface ViewingAgent {
  conversationId: string
  name: string
  reference: AgentReference
  /** The agent also sees messages to one of these sessions. */
  sessionIds: readonly string[]
}

async function viewerOf(
  colloquy: Colloquy,
  id: string,
  { agent }: ViewOptions,
  command: Command,
): Promise<ViewingAgent> {
  const found = await find(colloquy, id)
  if (found.kind === 'session' && (agent ?? found.session.agentName) === found.session.agentName) {
    const { id: sessionId, conversationId, agentName: name } = found.session
    return { conversationId, name, reference: { sessionId }, sessionIds: [sessionId] }
  }
  if (agent === undefined)
    command.error('error: say with --agent NAME whose view it is to be, or give the id of a session.')
  const conversationId = found.kind === 'session' ? found.session.conversationId : found.conversation.id
  const { items } = await colloquy.sessions.listSessions({ conversationId, agentName: agent })
  return { conversationId, name: agent, reference: agent, sessionIds: items.map(session => session.id) }
}

/** Returns the given message, or else the newest one that reaches the agent and that it has not answered. */
async function triggerOf(
  colloquy: Colloquy,
  viewer: ViewingAgent,
  past: PastConversation | undefined,
  { message, trigger }: ViewOptions,
): Promise<AgentViewOptions['trigger'] | undefined> {
  if (message !== undefined) return message.trim() === '' ? undefined : message
  if (trigger !== undefined) return { messageId: trigger }
  const { conversationId, name } = viewer
  const page = { limit: messagesLookedAt }
  const messages = past ? await past.messages(page) : await colloquy.conversations.getMessages(conversationId, page)
  const last = messages.findLast(one => one.author === name || (one.content !== '' && reaches(one, viewer)))
  return last && last.author !== name ? { messageId: last.id } : undefined
}

function reaches({ audience, internal, role }: Message, { name, sessionIds }: ViewingAgent): boolean {
  if (internal || role === 'system') return false
  if (audience.to === 'session') return sessionIds.includes(audience.sessionId)
  return audience.to === 'everyone' || (audience.to === 'agents' && audience.agents.includes(name))
}

async function show(view: AgentView, { format, explain, json }: ViewOptions): Promise<void> {
  const { systemPrompt, userPrompt, system, messages, ...account } = view
  if (json) {
    const rendering = format === 'prompt' ? { systemPrompt, userPrompt } : { system, messages }
    return printJson({ ...account, ...(!explain && { format, ...rendering }) })
  }
  if (explain) await printLines(ledgerLines(view, { id: view.sessionId, agentName: view.agent }))
  else await (format === 'prompt' ? print(promptText(view)) : printLines(requestLines(view)))
  note(errorStyle.dim(factsOf(view, explain).join(' · ')))
}

function factsOf({ totalTokens, budget, catchUp, checkpoint, omitted, upTo }: AgentView, explain = false): string[] {
  return [
    `${count(totalTokens)} of ${count(budget, 'token')}`,
    checkpoint === undefined ? '' : `on checkpoint ${checkpoint}`,
    catchUp
      ? `${count(catchUp.messages, 'message')} since version ${catchUp.since}`
      : 'it has acknowledged nothing yet',
    catchUp?.omitted ? `${count(catchUp.omitted)} more left out of what came meanwhile` : '',
    omitted === 0 ? '' : `${count(omitted, 'message')} left out`,
    `to acknowledge: ${upTo}`,
    explain ? '' : '--explain says why',
  ].filter(Boolean)
}
