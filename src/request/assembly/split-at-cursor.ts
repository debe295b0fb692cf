/** Splits the messages that an agent sees into known and unseen ones. */
import type { Message } from '../../log/views/message.ts'

/**
 * The agent's own messages, and results of its own calls, are known to it however late they came: they stay in the
 * history, so that a call keeps its result. What is new is what others said. The content of a reference was told with the
 * message that refers to it.
 */
export function partUnseen(
  messages: readonly Message[],
  { agentName, acknowledged }: { agentName: string; acknowledged: number },
): { known: Message[]; unseen: Message[] } {
  const calls = new Set<string>()
  const known: Message[] = []
  const unseen: Message[] = []
  for (const message of messages) {
    const isOwn = message.role === 'assistant' && message.author === agentName
    if (isOwn) for (const part of message.parts) if (part.type === 'tool-call') calls.add(part.callId)
    const answers = message.parts.some(part => part.type === 'tool-result' && calls.has(part.callId))
    const toldWith = message.resolves?.of ?? message.version
    if (isOwn || answers || toldWith <= acknowledged) known.push(message)
    else unseen.push(message)
  }
  return { known, unseen }
}
