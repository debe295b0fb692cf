/**
 * Finds the instructions of people that stay in a request, whatever is compacted or left out: the newest one, and the
 * one that opened the running turn.
 */
import { Recent } from '../../log/lru.ts'
import type { StoreCalls } from '../../log/store.ts'
import { isInstruction } from '../../log/views/instructions.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { type Window, windowOf } from '../../log/windows.ts'
import { messagesAt } from './window-messages.ts'

export interface StandingInstructions {
  versions: ReadonlySet<number>
  /** Those that are not among the messages that were read. */
  unread: readonly Message[]
}

export interface InstructionSearch {
  session: SessionHead
  end: number
  /** The newest messages of the window, as they were read for the request. */
  messages: readonly Message[]
  trigger: Message | undefined
  /** Versions of the newest user messages that the checkpoint names, oldest first. */
  carried: readonly number[]
  /** Versions of pinned messages: they stay anyway, and word for word. */
  pins: readonly number[]
}

/** Messages before an instruction that are looked at, to find out whether it came in the middle of a turn. */
const maxPreceding = 20
/** Instructions that are followed backwards, where a person says one after the other. */
const maxSteps = 8
const pageSize = 500
/** An instruction with more messages of agents behind it than these pages hold is found by the checkpoint alone. */
const maxPages = 20

export async function standingInstructions(
  store: StoreCalls,
  search: InstructionSearch,
): Promise<StandingInstructions> {
  const { session, end, messages, trigger, pins } = search
  const window: Window = { ...windowOf(session), end }
  const newest =
    trigger && isInstruction(trigger)
      ? trigger.version
      : await instructionBefore(store, search, window, Number.MAX_SAFE_INTEGER)
  if (newest === undefined) return { versions: new Set(), unread: [] }
  const opener = await turnOpener(store, search, window, newest)
  const pinned = new Set(pins)
  const standing = new Set([opener, newest].filter(version => version !== trigger?.version && !pinned.has(version)))
  const readVersions = new Set(messages.map(({ version }) => version))
  const unreadVersions = [...standing].filter(version => !readVersions.has(version))
  const unread = await messagesAt(store, window, unreadVersions)
  return { versions: standing, unread: unread.filter(isStanding) }
}

/**
 * Follows the instructions backwards as long as each came in the middle of a turn. A turn ends with words of the agent
 * that call no tool.
 */
async function turnOpener(
  store: StoreCalls,
  search: InstructionSearch,
  window: Window,
  newest: number,
): Promise<number> {
  let opener = newest
  for (let step = 0; step < maxSteps; step++) {
    const read = search.messages.filter(({ version }) => version < opener).slice(-maxPreceding)
    const preceding = read.length > 0 ? read : await store.messages(window, { before: opener, limit: maxPreceding })
    if (!isInsideTurn(preceding, search.session.agentName)) return opener
    const earlier = await instructionBefore(store, search, window, opener)
    if (earlier === undefined) return opener
    opener = earlier
  }
  return opener
}

function isInsideTurn(preceding: readonly Message[], agentName: string): boolean {
  for (const message of preceding.toReversed()) {
    if (isInstruction(message)) return true
    if (message.role !== 'assistant' || message.author !== agentName) continue
    return message.parts.some(part => part.type === 'tool-call')
  }
  return false
}

/** The newest instruction before a version: among the messages that were read, those between, and those summarised. */
async function instructionBefore(
  store: StoreCalls,
  { session, messages, carried }: InstructionSearch,
  window: Window,
  before: number,
): Promise<number | undefined> {
  const read = messages.findLast(message => message.version < before && isStanding(message))
  if (read) return read.version
  const oldestRead = Math.min(before, messages[0]?.version ?? before)
  const summarised = carried.findLast(version => version < before && version > session.windowStart)
  return lastScanned(store, session, { ...window, kinds: ['talk'] }, oldestRead, summarised ?? session.windowStart)
}

/** An erased instruction says nothing any more. */
function isStanding(message: Message): boolean {
  return isInstruction(message) && !message.missing
}

/** A part of a window without an instruction, between the one that was found and the version where the scan began. */
interface Scan {
  from: number
  instruction: number | undefined
}

/** The newest scan of each session, so that the requests of a long turn do not read the turn again. */
const scans = new WeakMap<StoreCalls, Recent<Scan>>()

/** Reads backwards from `before` to the next instruction. Nothing at `known` or earlier is looked at: it is one itself. */
async function lastScanned(
  store: StoreCalls,
  session: SessionHead,
  window: Window,
  before: number,
  known: number,
): Promise<number | undefined> {
  const cache = scans.get(store) ?? new Recent<Scan>(1_000)
  scans.set(store, cache)
  const earlier = cache.get(session.id)
  const otherwise = known > session.windowStart ? known : undefined
  const found = await scan()
  if (before < Number.MAX_SAFE_INTEGER) cache.set(session.id, { from: before, instruction: found })
  return found

  async function scan(): Promise<number | undefined> {
    let end = before
    for (let page = 0; page < maxPages && end > known; page++) {
      const messages = await store.messages(
        { ...window, start: Math.max(window.start, known) },
        { before: end, limit: pageSize },
      )
      const instruction = messages.findLast(isStanding)
      if (instruction) return instruction.version
      end = messages[0]?.version ?? 0
      if (messages.length < pageSize) return otherwise
      if (earlier && end <= earlier.from && earlier.instruction !== undefined && earlier.instruction > known)
        return earlier.instruction
    }
    return otherwise
  }
}
