/**
 * The computed sections that every session has: open tool calls, files read and changed, the newest user messages, and
 * where a Ralph loop stands. A summary must not be trusted with them.
 */
import type { CarriedState, RalphLoop } from '../../log/events/checkpoint.ts'
import type { Message } from '../../log/views/message.ts'
import {
  type CarriedSection,
  type ComputedLine,
  type ComputedSections,
  foldCarried,
  type Known,
  type StateSection,
} from './computed-sections.ts'
import { filesIn } from './tool-files.ts'

export interface CarriedLimits {
  openCalls: number
  /** Of each kind, read and changed. */
  files: number
  userMessages: number
  /** Of one user message. */
  characters: number
}

export const defaultCarriedLimits: CarriedLimits = { openCalls: 50, files: 60, userMessages: 5, characters: 2_000 }

/** The state after `messages`, given the state before them. Of everything the newest is kept, each thing once. */
export function carryOn(
  base: CarriedState | undefined,
  messages: readonly Message[],
  limits: CarriedLimits = defaultCarriedLimits,
): CarriedState {
  return foldCarried(carriedSections(limits), base, messages)
}

type OpenCall = CarriedState['openCalls'][number]
type UserMessage = CarriedState['userMessages'][number]

function carriedSections({ openCalls, files, userMessages, characters }: CarriedLimits): ComputedSections['carried'] {
  const calls: CarriedSection<OpenCall> = {
    name: 'openCalls',
    heading: 'Tool calls without a result yet',
    maxTokens: 1_000,
    maxEntries: openCalls,
    fold: openCallsAfter,
    // Its result may have come since the checkpoint: the state section says which are open now.
    line: () => undefined,
  }
  const changed: CarriedSection<string> = {
    name: 'filesChanged',
    heading: 'Files changed',
    maxTokens: 1_500,
    maxEntries: files,
    fold: (before, messages) => filesAfter(before, messages, 'changed'),
    line: file => file,
  }
  const read: CarriedSection<string> = {
    name: 'filesRead',
    heading: 'Files read',
    maxTokens: 1_000,
    maxEntries: files,
    fold: (before, messages) => filesAfter(before, messages, 'read'),
    line: (file, { filesChanged }) => (filesChanged.includes(file) ? undefined : file),
  }
  const said: CarriedSection<UserMessage> = {
    name: 'userMessages',
    heading: 'Newest user messages, word for word',
    maxTokens: 2_500,
    maxEntries: userMessages,
    fold: (before, messages) => userMessagesAfter(before, messages, characters),
    line: ({ version, text }) => ({ label: `message ${version}`, quote: text }),
  }
  return [calls, changed, read, said]
}

/** Which calls wait for their result now: those of the checkpoint, and what the messages behind it say. */
const openCallsNow: StateSection = {
  name: 'openCalls',
  heading: 'Tool calls without a result yet',
  maxTokens: 1_000,
  read: ({ checkpoint, messages }) =>
    openCallsAfter(checkpoint?.carried.openCalls ?? [], messages)
      .slice(-defaultCarriedLimits.openCalls)
      .map(({ callId, name, version }) => `${name} (call ${callId}, message ${version})`),
}

/** The loop that the session is in, by the log; where the log knows of none, what a checkpoint has. */
const ralphLoopNow: StateSection = {
  name: 'ralphLoop',
  heading: 'Ralph loop',
  maxTokens: 1_000,
  read(known) {
    const loop = loopOf(known)
    return loop ? ralphLines(loop) : []
  },
  kept(known) {
    const ralphLoop = loopOf(known)
    return ralphLoop ? { ralphLoop } : {}
  },
}

function loopOf({ session, conversation, checkpoint }: Known): RalphLoop | undefined {
  const loop = conversation?.ralph
  if (loop?.sessionId !== session.id) return checkpoint?.ralphLoop
  const { iteration, passed, failed, lastError, outcome } = loop
  return {
    // The one that is under way is the next.
    currentIteration: outcome === undefined ? iteration + 1 : iteration,
    passedChecks: [...passed],
    failedChecks: [...failed],
    ...(lastError !== undefined && { lastError }),
  }
}

export function ralphLines({ currentIteration, passedChecks, failedChecks, lastError }: RalphLoop): ComputedLine[] {
  const lines: ComputedLine[] = []
  if (lastError) lines.push({ label: 'last error', quote: lastError.slice(0, 2_000) })
  if (passedChecks.length > 0) lines.push(`passed: ${passedChecks.join(', ')}`)
  if (failedChecks.length > 0) lines.push(`failed: ${failedChecks.join(', ')}`)
  return [...lines, `iteration ${currentIteration}`]
}

export const commonSections: ComputedSections = {
  carried: carriedSections(defaultCarriedLimits),
  state: [openCallsNow, ralphLoopNow],
}

function openCallsAfter(before: readonly OpenCall[], messages: readonly Message[]): OpenCall[] {
  const open = new Map(before.map(call => [call.callId, call]))
  for (const { version, parts } of messages) {
    for (const part of parts) {
      if (part.type === 'tool-result') open.delete(part.callId)
      if (part.type === 'tool-call') renew(open, part.callId, { callId: part.callId, name: part.name, version })
    }
  }
  return [...open.values()]
}

function filesAfter(before: readonly string[], messages: readonly Message[], kind: 'read' | 'changed'): string[] {
  const files = new Map(before.map(file => [file, file]))
  for (const { parts } of messages) {
    for (const part of parts) {
      if (part.type === 'tool-call') for (const file of filesIn(part)[kind]) renew(files, file, file)
    }
  }
  return [...files.keys()]
}

function userMessagesAfter(
  before: readonly UserMessage[],
  messages: readonly Message[],
  characters: number,
): UserMessage[] {
  const said = new Map(before.map(message => [message.version, message]))
  for (const { version, role, content, internal } of messages) {
    // What a harness says in the user's place is internal.
    if (role === 'user' && !internal && content.trim() !== '') {
      renew(said, version, { version, text: bounded(content, characters, version) })
    }
  }
  return [...said.values()]
}

/** Maps keep the order of insertion, so what is put in again must be taken out first to become the newest. */
function renew<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.delete(key)
  map.set(key, value)
}

/** The text word for word up to the bound, then a marker that says where the rest is. */
function bounded(text: string, characters: number, version: number): string {
  if (text.length <= characters) return text
  // Half a surrogate pair is not a character.
  const end = isHighSurrogate(text.charCodeAt(characters - 1)) ? characters - 1 : characters
  return `${text.slice(0, end)}\n[… ${text.length - end} more characters in message ${version}]`
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
