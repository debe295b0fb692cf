/** Types of the server's answers about work items. */
import type { Client } from 'colloquy/client'

export type FeatureSummary = Awaited<ReturnType<Client['work']['features']>>['items'][number]
export type TaskGraph = Awaited<ReturnType<Client['work']['graph']>>
export type TaskNode = TaskGraph['tasks'][number]
export type BeadSummary = Awaited<ReturnType<Client['work']['beads']>>['items'][number]
