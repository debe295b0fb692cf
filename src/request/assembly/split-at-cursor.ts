/** Splits the messages that an agent sees into known and unseen ones. */
import type { Message } from '../../log/views/message.ts'

/**
 * The agent's own messages, what was said in its own session, and results of its own calls are known to it however late
 * they came: they stay in the history, so that it alternates as it was said and a call keeps its result. What is new is
 * what others said elsewhere. The content of a reference came with the message that refers to it.
 */
export function partUnseen(
  messages: readonly Message[],
  { agentName, sessionId, acknowledged }: { agentName: string; sessionId: string; acknowledged: number },
): { known: Message[]; unseen: Message[] } {
  const calls = new Set<string>()
  const known: Message[] = []
  const unseen: Message[] = []
  for (const message of messages) {
    const isOwn = message.role === 'assistant' && message.author === agentName
    const isOfSession = message.sessionId === sessionId
    if (isOwn) for (const part of message.parts) if (part.type === 'tool-call') calls.add(part.callId)
    const answers = message.parts.some(part => part.type === 'tool-result' && calls.has(part.callId))
    const toldWith = message.resolves?.of ?? message.version
    if (isOwn || isOfSession || answers || toldWith <= acknowledged) known.push(message)
    else unseen.push(message)
  }
  return { known, unseen }
}
