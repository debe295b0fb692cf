/** What the server tells of work. */
import type { Client } from 'colloquy/client'

export type FeatureSummary = Awaited<ReturnType<Client['work']['features']>>['items'][number]
export type TaskGraph = Awaited<ReturnType<Client['work']['graph']>>
export type TaskNode = TaskGraph['tasks'][number]
export type BeadSummary = Awaited<ReturnType<Client['work']['beads']>>['items'][number]
