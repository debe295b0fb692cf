/** Teams that build features: start, stop and status. */
import { z } from 'zod'
import { Feature } from '../../conversation/work/item-views.ts'
import { Id } from '../../log/events/id.ts'
import { Usage } from '../../log/events/message.ts'
import { LandingOutcome } from '../../log/events/work/landing.ts'
import { RalphLimits, RalphOutcome } from '../../log/events/work/ralph.ts'
import { Verdict } from '../../log/events/work/review.ts'
import { FeatureState, TaskState } from '../../log/events/work/work.ts'
import { inProject, named } from './common.ts'
import { endpoint } from './endpoint.ts'
import { Question } from './runs.ts'

const ofFeature = `${inProject}/features/{featureId}`
const FeaturePath = z.object({ project: Id, featureId: Id })
const TaskPath = z.object({ project: Id, featureId: Id, taskId: Id })

const names = z.array(z.string()).readonly()

const Loop = named(
  'RalphLoopState',
  z.object({
    id: z.string(),
    sessionId: z.string(),
    agent: z.string(),
    version: z.int(),
    round: z.int(),
    checks: names,
    limits: RalphLimits,
    feedback: z.string().optional(),
    iteration: z.int(),
    passed: names,
    failed: names,
    lastError: z.string().optional(),
    unchanged: z.int(),
    tree: z.string().optional(),
    commit: z.string().optional(),
    usage: Usage,
    attempts: z.array(z.int()).readonly(),
    outcome: RalphOutcome.optional(),
    reason: z.string().optional(),
  }),
)

const TaskStatus = named(
  'TaskStatus',
  z.object({
    taskId: z.string(),
    title: z.string(),
    state: TaskState,
    reason: z.string().optional(),
    ralph: Loop.optional(),
    review: z
      .object({
        number: z.int(),
        verdict: Verdict,
        feedback: z.string(),
        commit: z.string(),
        version: z.int(),
      })
      .optional(),
    landing: z
      .object({
        branch: z.string(),
        tip: z.string(),
        base: z.string(),
        version: z.int(),
        conflicts: names.optional(),
        outcome: LandingOutcome.optional(),
        commit: z.string().optional(),
        reason: z.string().optional(),
      })
      .optional(),
  }),
)

export const TeamStatus = named(
  'TeamStatus',
  z.object({
    featureId: z.string(),
    name: z.string(),
    state: FeatureState,
    /** The process at work on it, and the end of its lease unless renewed. */
    running: z.object({ holder: z.string(), until: z.string() }).optional(),
    /** The end of a team's last run on it. */
    ended: z.object({ outcome: z.string(), reason: z.string().optional(), at: z.string() }).optional(),
    worktree: z.object({ path: z.string(), branch: z.string() }).optional(),
    tasks: z.array(TaskStatus),
    questions: z.array(Question),
  }),
)

/** Options of a team's run. */
const How = z.strictObject({
  limits: RalphLimits.partial().optional(),
  approvals: z.enum(['person', 'agent', 'yes', 'no']).optional(),
  /** Tasks that failed or are blocked are taken up again where that happened. */
  retries: z.boolean().optional(),
})

export const building = {
  run: endpoint({
    method: 'post',
    path: `${ofFeature}/run`,
    // It runs the checks of the project, which are programs on this machine.
    scope: 'admin',
    summary: 'Starts a team on a feature; answers when it has started, and the team goes on',
    params: FeaturePath,
    body: How.optional(),
    answer: TeamStatus,
    status: 202,
  }),
  ralph: endpoint({
    method: 'post',
    path: `${ofFeature}/tasks/{taskId}/ralph`,
    scope: 'admin',
    summary: 'Starts dev on one task, in a Ralph loop; answers when it has started',
    params: TaskPath,
    body: How.omit({ retries: true }).optional(),
    answer: TeamStatus,
    status: 202,
  }),
  stop: endpoint({
    method: 'post',
    path: `${ofFeature}/stop`,
    scope: 'write',
    summary: 'Stops the team on a feature, in any process',
    params: FeaturePath,
    body: z.strictObject({ reason: z.string().max(10_000).optional() }).optional(),
    answer: Feature,
  }),
  status: endpoint({
    method: 'get',
    path: `${ofFeature}/status`,
    scope: 'read',
    summary: 'Status of the team on a feature: tasks with their loops, reviews and landings, and open questions',
    params: FeaturePath,
    answer: TeamStatus,
  }),
}
