/** Projects with a demo: their folders on this machine, and their settings. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Colloquy, ProjectOptions } from '../../index.ts'
import type { ServerSettings } from '../settings.ts'

export const defaultPaceMs = 400

/** Returns the folder of a project's demo. */
export function demoFolder(root: string, project: string): string {
  return join(root, '.colloquy', 'demo', folderName(project))
}

const cachedSettings = new Map<string, Promise<ProjectOptions>>()

/** Returns the same project, with the settings of the demo if one was started in it here. */
export async function withDemo(colloquy: Colloquy, { root }: ServerSettings): Promise<Colloquy> {
  if (colloquy.root !== undefined || root === undefined) return colloquy
  const folder = demoFolder(root, colloquy.project)
  if (!existsSync(folder)) return colloquy
  const { demoSettings, isDemoFolder } = await import('../../app/demo/index.ts')
  if (!isDemoFolder(folder)) return colloquy
  const settings = cachedSettings.get(folder) ?? demoSettings(folder, { paceMs: defaultPaceMs })
  cachedSettings.set(folder, settings)
  return colloquy.as({}, await settings)
}

/** A project's name may have characters that a folder's name cannot have. */
function folderName(project: string): string {
  return /^[\w-]{1,64}$/.test(project) ? project : createHash('sha256').update(project).digest('hex').slice(0, 16)
}
