/** Where demos are on this machine, and what holds in their projects: their own folder, their own team. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Colloquy, ProjectOptions } from '../../index.ts'
import type { ServerSettings } from '../settings.ts'

export const usualPaceMs = 400

/** One for each project that a demo may be in. */
export function demoFolder(root: string, project: string): string {
  return join(root, '.colloquy', 'demo', folderName(project))
}

const known = new Map<string, Promise<ProjectOptions>>()

/** The same project; if a demo was started in it here, as its team knows it. */
export async function withDemo(colloquy: Colloquy, { root }: ServerSettings): Promise<Colloquy> {
  if (colloquy.root !== undefined || root === undefined) return colloquy
  const folder = demoFolder(root, colloquy.project)
  if (!existsSync(folder)) return colloquy
  const { demoSettings, isDemoFolder } = await import('../../app/demo/index.ts')
  if (!isDemoFolder(folder)) return colloquy
  const settings = known.get(folder) ?? demoSettings(folder, { paceMs: usualPaceMs })
  known.set(folder, settings)
  return colloquy.as({}, await settings)
}

/** Names of projects may be anything; those of folders may not. */
function folderName(project: string): string {
  return /^[\w-]{1,64}$/.test(project) ? project : createHash('sha256').update(project).digest('hex').slice(0, 16)
}
