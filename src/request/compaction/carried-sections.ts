/**
 * The computed sections that every session has: open tool calls, files read and changed, the newest user messages, and
 * the state of a Ralph loop. Code computes them, because a model's summary may leave them out or get them wrong.
 */
import type { CarriedState, RalphLoop } from '../../log/events/checkpoint.ts'
import type { Message } from '../../log/views/message.ts'
import type { CarriedSection, ComputedLine, ComputedSections, Known, StateSection } from './computed-sections.ts'
import { filesIn } from './tool-files.ts'

interface CarriedLimits {
  openCalls: number
  /** The most files that were read, and the most that were changed. */
  files: number
  userMessages: number
  /** The most characters of one user message. */
  characters: number
}

const defaultLimits: CarriedLimits = { openCalls: 50, files: 60, userMessages: 5, characters: 2_000 }

type OpenCall = CarriedState['openCalls'][number]
type UserMessage = CarriedState['userMessages'][number]

/** Builds the sections that are carried from checkpoint to checkpoint. Of everything the newest is kept, each thing once. */
export function carriedSections(limits: Partial<CarriedLimits> = {}): ComputedSections['carried'] {
  const { openCalls, files, userMessages, characters } = { ...defaultLimits, ...limits }
  const calls: CarriedSection<OpenCall> = {
    name: 'openCalls',
    heading: 'Tool calls without a result yet',
    maxTokens: 1_000,
    maxEntries: openCalls,
    fold: openCallsAfter,
    // The result may have come since the checkpoint, so the state section lists the calls that are open now.
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
  const newest: CarriedSection<UserMessage> = {
    name: 'userMessages',
    heading: 'Newest user messages, word for word',
    maxTokens: 2_500,
    maxEntries: userMessages,
    fold: (before, messages) => userMessagesAfter(before, messages, characters),
    line: ({ version, text }) => ({ label: `message ${version}`, quote: text }),
  }
  return [calls, changed, read, newest]
}

/** The calls that wait for their result now, by the checkpoint and the messages behind it. */
const openCallsNow: StateSection = {
  name: 'openCalls',
  heading: 'Tool calls without a result yet',
  maxTokens: 1_000,
  read: ({ checkpoint, messages }) =>
    openCallsAfter(checkpoint?.carried.openCalls ?? [], messages)
      .slice(-defaultLimits.openCalls)
      .map(({ callId, name, version }) => `${name} (call ${callId}, message ${version})`),
}

/** The loop that the session is in, by the log; without one there, the loop of the checkpoint. */
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
    // The log counts ended iterations, so the running one is the next.
    currentIteration: outcome === undefined ? iteration + 1 : iteration,
    passedChecks: [...passed],
    failedChecks: [...failed],
    ...(lastError !== undefined && { lastError }),
  }
}

function ralphLines({ currentIteration, passedChecks, failedChecks, lastError }: RalphLoop): ComputedLine[] {
  const lines: ComputedLine[] = []
  if (lastError) lines.push({ label: 'last error', quote: lastError.slice(0, 2_000) })
  if (passedChecks.length > 0) lines.push(`passed: ${passedChecks.join(', ')}`)
  if (failedChecks.length > 0) lines.push(`failed: ${failedChecks.join(', ')}`)
  return [...lines, `iteration ${currentIteration}`]
}

export const commonSections: ComputedSections = {
  carried: carriedSections(),
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
  const newest = new Map(before.map(message => [message.version, message]))
  for (const { version, role, content, internal } of messages) {
    // Messages of a harness in the user's place are internal.
    if (role === 'user' && !internal && content.trim() !== '') {
      renew(newest, version, { version, text: bounded(content, characters, version) })
    }
  }
  return [...newest.values()]
}

/** Makes the entry the newest of the map, which keeps the order of insertion. */
function renew<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.delete(key)
  map.set(key, value)
}

/** Returns the text word for word up to the bound, then a marker that names the message with the rest. */
function bounded(text: string, characters: number, version: number): string {
  if (text.length <= characters) return text
  // A surrogate pair is not cut in half.
  const end = isHighSurrogate(text.charCodeAt(characters - 1)) ? characters - 1 : characters
  return `${text.slice(0, end)}\n[… ${text.length - end} more characters in message ${version}]`
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
