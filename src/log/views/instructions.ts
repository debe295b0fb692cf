/** Tells the instructions of a person from other messages. */
import type { Part } from '../events/part.ts'

interface InstructionMessage {
  role: string
  parts: readonly Part[]
  internal?: boolean | undefined
  agentType?: string | undefined
  resolves?: unknown
}

/** True for the words of a person: no result of a tool, no harness in the user's place, no content of a reference. */
export function isInstruction({ role, parts, internal, agentType, resolves }: InstructionMessage): boolean {
  if (role !== 'user' || internal || agentType !== undefined || resolves !== undefined) return false
  if (parts.some(part => part.type === 'tool-result')) return false
  return parts.some(part => (part.type === 'text' ? part.text.trim() !== '' : part.type === 'file'))
}
