/** The demo over HTTP. Like any team it goes on when the client disconnects. */
import { IllegalState, NotFound } from '../../errors.ts'
import type { Colloquy } from '../../index.ts'
import type { Handlers } from '../handler.ts'
import { startInBackground } from './background-work.ts'
import { defaultPaceMs, demoFolder } from './demo-project.ts'

export function demoHandlers(): Handlers<'demo'> {
  return {
    async start({ colloquy, body, server }) {
      const { project } = colloquy
      const { root, trace } = server.settings
      if (root === undefined) {
        throw new IllegalState('This server has no folder to make a repository in. `colloquy demo` makes one anywhere.')
      }
      const demo = await import('../../app/demo/index.ts')
      const folder = demoFolder(root, project)
      const existing = await existingFeature(colloquy, demo.demoFeature)
      if (colloquy.root !== undefined) {
        throw new IllegalState(`Project ${project} has a folder of its own. The demo needs a project without one.`, {
          project,
        })
      }
      if (existing?.state === 'done') {
        const { featureId, conversationId, state } = existing
        return { project, featureId, conversationId, state, folder }
      }
      await startInBackground(
        ({ onBegun }) =>
          server.jobs.perform('demo', project, async () => {
            await demo.demoRepository(folder)
            const settings = await demo.demoSettings(folder, { paceMs: body?.paceMs ?? defaultPaceMs })
            const within = colloquy.as({}, settings)
            const { outcome, reason } = await demo.runDemo(within, { onBegun, retries: true })
            return { outcome, ...(reason !== undefined && { reason }) }
          }),
        error => trace?.warn({ error, project }, 'the demo could not go on'),
      )
      const { featureId, conversationId, state } = await colloquy.work.getFeature(demo.demoFeature.featureId)
      return { project, featureId, conversationId, state, folder }
    },
  }
}

/**
 * Returns the feature of the demo, if it exists.
 *
 * @throws {IllegalState} when the project holds something else
 */
async function existingFeature(colloquy: Colloquy, { featureId, goal }: { featureId: string; goal: string }) {
  try {
    const feature = await colloquy.work.getFeature(featureId)
    if (feature.goal === goal) return feature
  } catch (error) {
    if (!(error instanceof NotFound)) throw error
    if ((await colloquy.stats()).conversations === 0) return undefined
  }
  const { project } = colloquy
  throw new IllegalState(`Project ${project} has other work. The demo needs an empty project.`, {
    project,
  })
}
