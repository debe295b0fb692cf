/** Types of the server's answers about sessions. */
import type { Client } from 'colloquy/client'

export type Session = Awaited<ReturnType<Client['sessions']['get']>>
export type SessionHead = Omit<Session, 'type' | 'expiresAt' | 'stats'>
export type SessionMetrics = Awaited<ReturnType<Client['sessions']['metrics']>>
export type AgentRequest = Awaited<ReturnType<Client['sessions']['preview']>>
export type Checkpoint = NonNullable<Awaited<ReturnType<Client['sessions']['checkpoint']>>>
export type CheckpointItem = Checkpoint['items'][number]
export type CheckpointDiff = Awaited<ReturnType<Client['sessions']['compareCheckpoints']>>
