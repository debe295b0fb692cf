/** The commands of a chat, typed in place of a message. */
import { ColloquyError } from '../../errors.ts'
import type { Colloquy, Session } from '../../index.ts'
import { inWords } from '../commands/compact.ts'
import { tell } from '../failure.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { printLines, style } from '../terminal/terminal.ts'
import { count, relativeTime } from '../text/format.ts'
import { ledgerLines } from '../text/ledger.ts'

export interface ChatState {
  session: Session
  /** Named for this chat; else what is configured. */
  model?: string
}

interface ChatCommand {
  does: string
  run(colloquy: Colloquy, state: ChatState, rest: string): Promise<string[] | 'quit'>
}

const commands: Readonly<Record<string, ChatCommand>> = {
  help: {
    does: 'this list',
    run: async () =>
      Object.entries(commands).map(([name, { does }]) => `  ${style.cyan(`/${name}`.padEnd(13))}${does}`),
  },
  request: {
    does: 'what the agent would be sent next, and why; /request TEXT for a message',
    async run({ sessions }, { session, model }, rest) {
      const options = model === undefined ? {} : { model }
      return ledgerLines(await sessions.previewRequest(session.id, rest || 'Go on.', options), session)
    },
  },
  checkpoint: {
    does: 'the summary that stands for older messages',
    async run({ sessions }, { session }) {
      const found = await sessions.getCheckpoint(session.id)
      if (!found) return ['There is no checkpoint yet.']
      const { number, author, messages, tokens, items } = found
      const facts = `stands for ${count(messages, 'message')} in ${count(tokens.checkpoint, 'token')}; by ${author}`
      return [
        style.bold(`Checkpoint ${number}`) + safeLine(` ${facts}`),
        ...items.map(item => safeLine(`  ${item.section}: ${item.text}`)),
      ]
    },
  },
  compact: {
    does: 'summarises older messages now',
    async run({ sessions }, { session }) {
      const before = await sessions.getCheckpoint(session.id)
      return inWords(await sessions.forceCompact(session.id), before)
    },
  },
  clear: {
    does: 'starts with an empty window; the log keeps everything',
    async run({ sessions }, { session }) {
      await sessions.clearMessages(session.id)
      return ['The agent starts anew. The log keeps what was said.']
    },
  },
  model: {
    does: 'the model, or another one: /model NAME',
    async run({ sessions }, state, rest) {
      if (rest === '') return [state.model ?? state.session.requests?.model ?? 'As configured.']
      state.session = await sessions.setRequestSettings(state.session.id, { model: rest })
      state.model = rest
      return [safeLine(`From now on: ${rest}`)]
    },
  },
  agents: {
    does: 'who else is on this conversation',
    async run({ sessions }, { session }) {
      const { items } = await sessions.listSessions({ conversationId: session.conversationId, status: ['active'] })
      return items.map(({ agentName, agentType, stats }) =>
        safeLine(
          `  ${agentName} (${agentType}), ${count(stats.messages, 'message')}, ${relativeTime(stats.lastActivityAt)}`,
        ),
      )
    },
  },
  cost: {
    does: 'what runs on this conversation took',
    async run({ conversations }, { session }) {
      const { runs } = await conversations.getConversation(session.conversationId)
      if (!runs) return ['No run has ended yet.']
      const { usage, ended, withoutCost } = runs
      const cached = usage.cacheRead ? `, ${count(usage.cacheRead)} from the cache` : ''
      const price = usage.cost === undefined ? 'no price known' : `$${usage.cost.toFixed(4)}`
      const rest =
        withoutCost > 0 && usage.cost !== undefined ? ` and ${count(withoutCost, 'run')} of unknown price` : ''
      return [
        `${count(ended, 'run')}: ${count(usage.input, 'token')} in${cached}, ${count(usage.output)} out, ${price}${rest}`,
      ]
    },
  },
  branch: {
    does: 'goes on in a branch, and leaves this conversation as it is; /branch TITLE',
    async run({ conversations, sessions }, state, rest) {
      const { conversationId, agentName, agentType } = state.session
      const branch = await conversations.branch(conversationId, undefined, rest === '' ? {} : { title: rest })
      if (branch.workItem.type !== 'thread') return ['The branch cannot be talked in.']
      const { threadId } = branch.workItem
      state.session = await sessions.getOrCreateSession({ type: 'thread', threadId, agentName, agentType })
      return [safeLine(`On the branch "${branch.title}" (${branch.id}) from here on.`)]
    },
  },
  quit: { does: 'leaves', run: async () => 'quit' },
}

export async function chatCommand(colloquy: Colloquy, state: ChatState, line: string): Promise<'quit' | undefined> {
  const [, name = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(line) ?? []
  const found = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!found) {
    await printLines([
      safeLine(`There is no /${name}.`),
      ...((await commands.help!.run(colloquy, state, '')) as string[]),
    ])
    return undefined
  }
  try {
    const lines = await found.run(colloquy, state, rest.trim())
    if (lines === 'quit') return 'quit'
    await printLines(lines)
  } catch (error) {
    if (!(error instanceof ColloquyError)) throw error
    tell(error, { json: false })
  }
  return undefined
}
