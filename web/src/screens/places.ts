/** Where things are shown. */
import { address } from '../router/address.ts'

export function conversationPlace(project: string, conversationId: string, version?: number): string {
  return address([project, 'conversations', conversationId], { version })
}

export function sessionPlace(project: string, sessionId: string): string {
  return address([project, 'sessions', sessionId])
}

export function agentViewPlace(project: string, conversationId: string, agent?: string): string {
  return address([project, 'conversations', conversationId, 'view'], { agent })
}
