/** Splits the messages that an agent sees into known and unseen ones. */
import type { Message } from '../../log/views/message.ts'

/**
 * Messages up to the cursor are known. Later ones are known too if they are the agent's own, were said in its own session,
 * or answer its own calls: they stay in the history, so that roles alternate and a call keeps its result. What others said
 * elsewhere is unseen. The content of a reference counts as old as the message that refers to it.
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
