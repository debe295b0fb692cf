/** What a request is about: the project, the feature, the task. Gathered from outside, recorded when it changes. */
import { z } from 'zod'
import { Id } from './id.ts'

export const TaskSummary = z.object({ id: z.string(), title: z.string(), state: z.string().optional() })
export type TaskSummary = z.infer<typeof TaskSummary>

export const SessionContext = z.object({
  project: z.object({
    root: z.string().optional(),
    /** The directory tree, bounded, ignore files respected. */
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
  /** The task graph in one line. */
  dagSummary: z.string().optional(),
})
export type SessionContext = z.infer<typeof SessionContext>

/** How much of a project is shown; recorded, so that it is gathered again the same way. */
export const ContextLimits = z.object({
  structure: z.object({ entries: z.int(), depth: z.int(), perFolder: z.int() }).partial().optional(),
  /** Bytes shown of each instruction file. */
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
  /** Where it was not gathered by the usual limits. */
  limits: ContextLimits.optional(),
  /** Size of the parts that stand before and after the history. */
  tokens: z.object({ stable: z.int().nonnegative(), volatile: z.int().nonnegative() }),
})
export type ContextGathered = z.infer<typeof ContextGathered>
