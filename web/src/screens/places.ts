/** Addresses of screens; `at` keeps the viewed version. */
import { address } from '../router/address.ts'

export function conversationPlace(project: string, conversationId: string, version?: number, at?: number): string {
  return address([project, 'conversations', conversationId], { v: version, at })
}

export function sessionPlace(project: string, sessionId: string, at?: number): string {
  return address([project, 'sessions', sessionId], { at })
}

export function agentViewPlace(project: string, conversationId: string, agent?: string, at?: number): string {
  return address([project, 'conversations', conversationId, 'view'], { agent, at })
}
