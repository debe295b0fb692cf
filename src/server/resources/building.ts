/** Teams over HTTP. A team belongs to the server once it is at work: no client's leaving ends it. */
import type { Colloquy, TeamOptions } from '../../index.ts'
import type { Handlers } from '../handler.ts'
import { atWork } from './accepted.ts'
import { withDemo } from './demo-place.ts'

export function buildingHandlers(): Handlers<'building'> {
  return {
    async run({ colloquy: asked, params, body, server }) {
      const { featureId } = params
      const colloquy = await withDemo(asked, server.settings)
      await atWork(
        options => colloquy.team.run(featureId, { ...given(body), ...options }),
        error => server.settings.trace?.warn({ error, featureId }, 'a team could not go on'),
      )
      return status(colloquy, featureId)
    },
    async ralph({ colloquy: asked, params: { featureId, taskId }, body, server }) {
      const colloquy = await withDemo(asked, server.settings)
      await atWork(
        options => colloquy.team.ralph({ featureId, taskId }, { ...given(body), ...options }),
        error => server.settings.trace?.warn({ error, featureId, taskId }, 'a loop could not go on'),
      )
      return status(colloquy, featureId)
    },
    stop: async ({ colloquy, params, body, server }) =>
      (await withDemo(colloquy, server.settings)).team.stop(params.featureId, body?.reason),
    status: async ({ colloquy, params, server }) => status(await withDemo(colloquy, server.settings), params.featureId),
  }
}

async function status(colloquy: Colloquy, featureId: string) {
  const { questions, ...found } = await colloquy.team.status(featureId)
  return { ...found, questions: questions.map(one => ({ project: colloquy.project, ...one })) }
}

function given(body: object | undefined): TeamOptions {
  return Object.fromEntries(Object.entries(body ?? {}).filter(([, value]) => value !== undefined))
}
