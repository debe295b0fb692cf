/** The demo over HTTP. Like any team it belongs to the server once it is at work. */
import { IllegalState, NotFound } from '../../errors.ts'
import type { Colloquy } from '../../index.ts'
import type { Handlers } from '../handler.ts'
import { atWork } from './accepted.ts'
import { demoFolder, usualPaceMs } from './demo-place.ts'

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
      const known = await knownFeature(colloquy, demo.demoFeature)
      if (colloquy.root !== undefined) {
        throw new IllegalState(`Project ${project} has a folder of its own. The demo needs a project without one.`, {
          project,
        })
      }
      if (known?.state === 'done') {
        const { featureId, conversationId, state } = known
        return { project, featureId, conversationId, state, folder }
      }
      await atWork(
        ({ onBegun }) =>
          server.jobs.perform('demo', project, async () => {
            await demo.demoRepository(folder)
            const settings = await demo.demoSettings(folder, { paceMs: body?.paceMs ?? usualPaceMs })
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
 * The feature of the demo, where it is there already.
 *
 * @throws {IllegalState} when the project holds something else
 */
async function knownFeature(colloquy: Colloquy, { featureId, goal }: { featureId: string; goal: string }) {
  try {
    const found = await colloquy.work.getFeature(featureId)
    if (found.goal === goal) return found
  } catch (error) {
    if (!(error instanceof NotFound)) throw error
    if ((await colloquy.stats()).conversations === 0) return undefined
  }
  const { project } = colloquy
  throw new IllegalState(`Project ${project} holds work of its own. The demo needs a project that is empty.`, {
    project,
  })
}
