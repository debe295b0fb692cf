/**
 * The demo: a small repository, and a team that plays from a script and builds a feature in it, from plan to merge. It
 * needs no key. The CLI runs it in a store of its own, a server in the store it serves.
 */
import { join } from 'node:path'
import { NotFound } from '../../errors.ts'
import type { BuildSettingsInput, Colloquy, ProjectOptions } from '../../index.ts'
import { configurationFiles, readConfiguration } from '../configuration/read-configuration.ts'
import { demoFeature } from './repository.ts'
import { demoModels } from './team.ts'

export { demoFeature, demoRepository, isDemoFolder } from './repository.ts'

/** A killed demo goes on after this long at the latest. */
const leaseMs = 4_000

/** What holds in a project of the demo: its folder, its team, its checks. The repository must be there. */
export async function demoSettings(folder: string, { paceMs = 0 } = {}): Promise<ProjectOptions> {
  const { work } = await readConfiguration({ file: join(folder, configurationFiles[0]), env: {} })
  return {
    root: folder,
    agents: { models: demoModels({ paceMs }), leaseMs },
    work: { ...(work as BuildSettingsInput), leaseMs, approvals: 'yes' },
  }
}

/** Its feature, made where it is missing. */
export async function addDemoFeature({ work }: Colloquy): ReturnType<Colloquy['work']['getFeature']> {
  try {
    return await work.getFeature(demoFeature.featureId)
  } catch (error) {
    if (!(error instanceof NotFound)) throw error
    return work.addFeature(demoFeature)
  }
}
