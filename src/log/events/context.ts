/** The subject of a request: project, feature, task. Gathered from outside and recorded when it changes. */
import { z } from 'zod'
import { Id } from './id.ts'

export const TaskSummary = z.object({ id: z.string(), title: z.string(), state: z.string().optional() })
export type TaskSummary = z.infer<typeof TaskSummary>

export const SessionContext = z.object({
  project: z.object({
    root: z.string().optional(),
    /** Directory tree, bounded, without ignored files. */
    structure: z.string().optional(),
    /** CLAUDE.md, AGENTS.md, PROJECT.md: name and text. */
    instructionFiles: z.array(z.object({ name: z.string(), text: z.string() })).optional(),
    /** `hash subject`, newest first. */
    recentCommits: z.array(z.string()).optional(),
  }),
  feature: z
    .object({
      id: z.string(),
      name: z.string(),
      goal: z.string().optional(),
      spec: z.string().optional(),
      tasks: z.array(TaskSummary).optional(),
    })
    .optional(),
  task: z
    .object({
      id: z.string(),
      title: z.string(),
      description: z.string().optional(),
      state: z.string().optional(),
      dependencies: z.array(TaskSummary).optional(),
      dependents: z.array(TaskSummary).optional(),
    })
    .optional(),
  /** One line about the task graph. */
  dagSummary: z.string().optional(),
})
export type SessionContext = z.infer<typeof SessionContext>

/** Limits for the part of a project that is shown. Recorded, so that it is gathered again in the same way. */
export const ContextLimits = z.object({
  structure: z.object({ entries: z.int(), depth: z.int(), perFolder: z.int() }).partial().optional(),
  /** Maximum bytes of each instruction file. */
  instructionFileBytes: z.int().nonnegative().optional(),
  commits: z.int().nonnegative().optional(),
})
export type ContextLimits = z.infer<typeof ContextLimits>

export const ContextGathered = z.object({
  type: z.literal('context.gathered'),
  sessionId: Id,
  context: SessionContext,
  /** Digest of the inputs: equal inputs need no new event. */
  fingerprint: z.string(),
  /** Present when it was gathered with other limits than the default. */
  limits: ContextLimits.optional(),
  /** Size of the parts before and after the history. */
  tokens: z.object({ stable: z.int().nonnegative(), volatile: z.int().nonnegative() }),
})
export type ContextGathered = z.infer<typeof ContextGathered>
