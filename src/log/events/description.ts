/** An agent's description as its model reads it. Recorded when it changes. */
import { z } from 'zod'
import { Id } from './id.ts'

export const AgentDescription = z.object({
  agentType: Id,
  role: z.string().min(1),
  instructions: z.array(z.string()),
  allowedTools: z.array(z.string()),
  toolInstructions: z.string().optional(),
})
export type AgentDescription = z.infer<typeof AgentDescription>

export const SessionDescribed = z.object({
  type: z.literal('session.described'),
  sessionId: Id,
  description: AgentDescription,
})
export type SessionDescribed = z.infer<typeof SessionDescribed>
