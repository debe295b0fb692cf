/**
 * What code reads off the messages itself and carries on from checkpoint to checkpoint: open tool calls, files read and
 * changed, the newest user messages. A summary must not be trusted with it.
 */
import type { CarriedState } from '../events/checkpoint.ts'
import type { Message } from '../views/message.ts'
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
  const openCalls = new Map((base?.openCalls ?? []).map(call => [call.callId, call]))
  const filesRead = new Set(base?.filesRead)
  const filesChanged = new Set(base?.filesChanged)
  const userMessages = new Map((base?.userMessages ?? []).map(message => [message.version, message]))
  for (const { version, role, parts, content, internal } of messages) {
    for (const part of parts) {
      if (part.type === 'tool-result') openCalls.delete(part.callId)
      if (part.type !== 'tool-call') continue
      renew(openCalls, part.callId, { callId: part.callId, name: part.name, version })
      const { read, changed } = filesIn(part)
      for (const file of read) renewIn(filesRead, file)
      for (const file of changed) renewIn(filesChanged, file)
    }
    // What a harness says in the user's place is internal.
    if (role === 'user' && !internal && content.trim() !== '') {
      renew(userMessages, version, { version, text: bounded(content, limits.characters, version) })
    }
  }
  return {
    openCalls: newest(openCalls.values(), limits.openCalls),
    filesRead: newest(filesRead, limits.files),
    filesChanged: newest(filesChanged, limits.files),
    userMessages: newest(userMessages.values(), limits.userMessages),
  }
}

function newest<T>(values: Iterable<T>, count: number): T[] {
  return count > 0 ? [...values].slice(-count) : []
}

/** Maps and sets keep the order of insertion, so what is put in again must be taken out first to become the newest. */
function renew<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.delete(key)
  map.set(key, value)
}

function renewIn<T>(set: Set<T>, value: T): void {
  set.delete(value)
  set.add(value)
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
