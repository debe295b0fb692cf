/** The demo: a scripted team in the served store. */
import { z } from 'zod'
import { FeatureState } from '../../log/events/work/work.ts'
import { inProject, named, Project } from './common.ts'
import { endpoint } from './endpoint.ts'

export const StartedDemo = named(
  'StartedDemo',
  z.object({
    project: z.string(),
    featureId: z.string(),
    conversationId: z.string(),
    /** `done` when there was nothing left to do. */
    state: FeatureState,
    /** Its repository, on the server's machine. */
    folder: z.string(),
  }),
)

export const demo = {
  start: endpoint({
    method: 'post',
    path: `${inProject}/demo`,
    // It makes a repository, and runs the tests in it, on this machine.
    scope: 'admin',
    summary:
      'Sets a team that plays from a script to work on a feature, in a project that holds nothing else; answers as soon as it is, and it goes on by itself',
    params: Project,
    /** Milliseconds before each answer, so that a person can follow. Default 400. */
    body: z.strictObject({ paceMs: z.int().min(0).max(10_000).optional() }).optional(),
    answer: StartedDemo,
    status: 202,
  }),
}
