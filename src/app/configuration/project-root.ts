/** The root, name and store of a project, by default. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { InvalidInput } from '../../errors.ts'

/** Returns the nearest folder upwards that looks like a workspace, else this one. */
export function projectRoot(start = process.cwd()): string {
  for (let folder = start; ; folder = dirname(folder)) {
    if (['.colloquy', '.git', 'package.json'].some(name => existsSync(join(folder, name)))) return folder
    if (folder === dirname(folder)) return start
  }
}

/**
 * Returns the default name of the project in a folder.
 *
 * @throws {InvalidInput} for `/`, where programs in containers often run
 */
export function projectName(root: string): string {
  const name = basename(root)
  if (name === '') throw new InvalidInput('project', `required, because "${root}" has no folder name to use`)
  return name
}

export function defaultStore(root: string): string {
  return `sqlite:${join(root, '.colloquy', 'colloquy.db')}`
}
