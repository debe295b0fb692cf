/** Teams over HTTP. A team goes on when the client disconnects. */
import type { Colloquy } from '../../index.ts'
import { withoutUndefined } from '../../log/commands/omit-undefined.ts'
import type { Handlers } from '../handler.ts'
import { startInBackground } from './background-work.ts'
import { withDemo } from './demo-project.ts'

export function buildingHandlers(): Handlers<'building'> {
  return {
    async run({ colloquy: requested, params, body, server }) {
      const { featureId } = params
      const colloquy = await withDemo(requested, server.settings)
      const team = await teamOf(colloquy)
      await startInBackground(
        options => team.run(featureId, { ...withoutUndefined(body ?? {}), ...options }),
        error => server.settings.trace?.warn({ error, featureId }, 'a team could not go on'),
      )
      return status(colloquy, featureId)
    },
    async ralph({ colloquy: requested, params: { featureId, taskId }, body, server }) {
      const colloquy = await withDemo(requested, server.settings)
      const team = await teamOf(colloquy)
      await startInBackground(
        options => team.ralph({ featureId, taskId }, { ...withoutUndefined(body ?? {}), ...options }),
        error => server.settings.trace?.warn({ error, featureId, taskId }, 'a loop could not go on'),
      )
      return status(colloquy, featureId)
    },
    stop: async ({ colloquy, params, body, server }) =>
      (await teamOf(await withDemo(colloquy, server.settings))).stop(params.featureId, body?.reason),
    status: async ({ colloquy, params, server }) => status(await withDemo(colloquy, server.settings), params.featureId),
  }
}

async function teamOf(colloquy: Colloquy) {
  const { team } = await import('../../agents/building/index.ts')
  return team(colloquy)
}

async function status(colloquy: Colloquy, featureId: string) {
  const team = await teamOf(colloquy)
  const { questions, ...status } = await team.status(featureId)
  return { ...status, questions: questions.map(question => ({ project: colloquy.project, ...question })) }
}
