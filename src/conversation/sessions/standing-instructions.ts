/**
 * Finds the instructions of people that stay in a request, whatever is compacted or left out: the newest one, and the
 * one that opened the running turn.
 *
 * The head of the conversation lists the newest versions, so the cost does not grow with the length of the turn.
 */
import type { Store } from '../../log/store.ts'
import type { ConversationInfo } from '../../log/views/conversation.ts'
import { isInstruction } from '../../log/views/instructions.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { isVisible, viewerOf } from '../../log/visibility.ts'
import { type Window, windowOf } from '../../log/windows.ts'
import { messagesAt } from './window-messages.ts'

export interface StandingInstructions {
  versions: ReadonlySet<number>
  /** Those that are not among the messages that were read. */
  unread: readonly Message[]
}

/** Messages before an instruction that are looked at, to find out whether it came in the middle of a turn. */
const maxPreceding = 20

export async function standingInstructions(
  store: Store,
  {
    session,
    conversation,
    end,
    messages,
    trigger,
  }: {
    session: SessionHead
    conversation: ConversationInfo | undefined
    end: number
    /** The newest messages of the window, as they were read for the request. */
    messages: readonly Message[]
    trigger: Message | undefined
  },
): Promise<StandingInstructions> {
  const window: Window = { ...windowOf(session), end }
  const versions = instructionVersions(session, conversation, end, messages)
  const newest = trigger && isInstruction(trigger) ? trigger.version : versions.at(-1)
  if (newest === undefined) return { versions: new Set(), unread: [] }
  const opener = await turnOpener(store, { session, window, messages, versions, newest })
  // A pinned one stays anyway, and word for word.
  const pins = new Set(conversation?.pins)
  const standing = new Set([opener, newest].filter(version => version !== trigger?.version && !pins.has(version)))
  const readVersions = new Set(messages.map(({ version }) => version))
  const found = await messagesAt(
    store,
    window,
    [...standing].filter(version => !readVersions.has(version)),
  )
  // An erased one says nothing any more.
  return { versions: standing, unread: found.filter(message => !message.missing) }
}

/** The newest instructions that the session sees, oldest first: by the head, and by the messages that were read. */
function instructionVersions(
  session: SessionHead,
  conversation: ConversationInfo | undefined,
  end: number,
  messages: readonly Message[],
): number[] {
  const viewer = viewerOf(session)
  const listed = (conversation?.instructions ?? [])
    .filter(({ audience }) => isVisible(audience, viewer))
    .flatMap(list => list.versions)
    .filter(version => version > session.windowStart && version <= end)
  const read = messages.filter(message => isInstruction(message) && !message.missing).map(({ version }) => version)
  return [...new Set([...listed, ...read])].sort((a, b) => a - b)
}

/**
 * Follows the instructions backwards as long as each came in the middle of a turn. A turn ends with words of the agent
 * that call no tool.
 */
async function turnOpener(
  store: Store,
  {
    session,
    window,
    messages,
    versions,
    newest,
  }: {
    session: SessionHead
    window: Window
    messages: readonly Message[]
    versions: readonly number[]
    newest: number
  },
): Promise<number> {
  let opener = newest
  for (;;) {
    const read = messages.filter(({ version }) => version < opener).slice(-maxPreceding)
    const preceding = read.length > 0 ? read : await store.messages(window, { before: opener, limit: maxPreceding })
    const before = versions.findLast(version => version < opener)
    if (before === undefined || !isInsideTurn(preceding, session.agentName)) return opener
    opener = before
  }
}

function isInsideTurn(preceding: readonly Message[], agentName: string): boolean {
  for (const message of preceding.toReversed()) {
    if (isInstruction(message)) return true
    if (message.role !== 'assistant' || message.author !== agentName) continue
    return message.parts.some(part => part.type === 'tool-call')
  }
  return false
}
