/** Teams over HTTP. A team belongs to the server once it is at work: no client's leaving ends it. */
import type { Colloquy, TeamOptions } from '../../index.ts'
import { atWork } from '../at-work.ts'
import type { Handlers } from '../handler.ts'

export function buildingHandlers(): Handlers<'building'> {
  return {
    async run({ colloquy, params, body, server }) {
      const { featureId } = params
      await atWork(
        options => colloquy.team.run(featureId, { ...given(body), ...options }),
        error => server.settings.trace?.warn({ error, featureId }, 'a team could not go on'),
      )
      return status(colloquy, featureId)
    },
    async ralph({ colloquy, params: { featureId, taskId }, body, server }) {
      await atWork(
        options => colloquy.team.ralph({ featureId, taskId }, { ...given(body), ...options }),
        error => server.settings.trace?.warn({ error, featureId, taskId }, 'a loop could not go on'),
      )
      return status(colloquy, featureId)
    },
    stop: ({ colloquy, params, body }) => colloquy.team.stop(params.featureId, body?.reason),
    status: ({ colloquy, params }) => status(colloquy, params.featureId),
  }
}

async function status(colloquy: Colloquy, featureId: string) {
  const { questions, ...found } = await colloquy.team.status(featureId)
  return { ...found, questions: questions.map(one => ({ project: colloquy.project, ...one })) }
}

function given(body: object | undefined): TeamOptions {
  return Object.fromEntries(Object.entries(body ?? {}).filter(([, value]) => value !== undefined))
}
