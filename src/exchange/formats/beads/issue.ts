/** The schema of an issue in `.beads/issues.jsonl`. Unknown fields are kept. */
import { z } from 'zod'

const BeadsDependency = z.looseObject({
  /** The dependent issue; with `parent-child` the child. */
  issue_id: z.string().min(1),
  depends_on_id: z.string().min(1),
  /** blocks, parent-child, related, discovered-from … */
  type: z.string(),
})

export const BeadsComment = z.looseObject({
  /** A number before version 1.0 of beads, a text since. */
  id: z.union([z.int(), z.string()]).optional(),
  author: z.string(),
  text: z.string(),
  created_at: z.string().optional(),
})
export type BeadsComment = z.infer<typeof BeadsComment>

export const BeadsIssue = z.looseObject({
  id: z.string().min(1),
  title: z.string().min(1),
  description: z.string().optional(),
  design: z.string().optional(),
  acceptance_criteria: z.string().optional(),
  notes: z.string().optional(),
  /** open, in_progress, blocked, deferred, closed, pinned, hooked, or the project's own. */
  status: z.string(),
  priority: z.int().min(0).max(4).optional(),
  issue_type: z.string().optional(),
  assignee: z.string().optional(),
  labels: z.array(z.string()).nullish(),
  dependencies: z.array(BeadsDependency).nullish(),
  comments: z.array(BeadsComment).nullish(),
  close_reason: z.string().optional(),
  defer_until: z.string().optional(),
  created_at: z.string().optional(),
})
export type BeadsIssue = z.infer<typeof BeadsIssue>
