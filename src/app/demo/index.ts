/**
 * The demo: a small repository, and a scripted team that builds a feature in it, from plan to merge. It needs no key. The
 * CLI runs it in a store of its own, a server in the store it serves. Loaded on demand.
 */
import { join } from 'node:path'
import { type TeamOptions, type TeamResult, team } from '../../agents/building/index.ts'
import { NotFound } from '../../errors.ts'
import type { Colloquy, ProjectOptions } from '../../index.ts'
import { configurationFiles, readConfiguration } from '../configuration/configuration-reader.ts'
import { demoFeature } from './repository.ts'
import { demoModels } from './team.ts'

export { demoFeature, demoRepository, isDemoFolder } from './repository.ts'

/** A demo that was killed goes on after this long at the latest. */
const leaseMs = 4_000

/** Settings of a project of the demo: its folder, models and checks. The repository must exist. */
export async function demoSettings(folder: string, { paceMs = 0 } = {}): Promise<ProjectOptions> {
  const { work } = await readConfiguration({ file: join(folder, configurationFiles[0]), env: {} })
  return {
    root: folder,
    agents: { models: demoModels({ paceMs }), leaseMs },
    work: { ...work, leaseMs, approvals: 'yes' },
  }
}

/** Adds the demo's feature, unless the project has it already. */
export async function addDemoFeature({ work }: Colloquy): ReturnType<Colloquy['work']['getFeature']> {
  try {
    return await work.getFeature(demoFeature.featureId)
  } catch (error) {
    if (!(error instanceof NotFound)) throw error
    return work.addFeature(demoFeature)
  }
}

/** Adds the demo's feature and has the team build it. */
export async function runDemo(colloquy: Colloquy, options: TeamOptions = {}): Promise<TeamResult> {
  const { featureId } = await addDemoFeature(colloquy)
  return team(colloquy).run(featureId, options)
}
