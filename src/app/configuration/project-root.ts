/** Where a project is, and where its store is unless somebody says otherwise. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { InvalidInput } from '../../errors.ts'

/** The nearest folder above that looks like a workspace, else this one. */
export function projectRoot(start = process.cwd()): string {
  for (let folder = start; ; folder = dirname(folder)) {
    if (['.colloquy', '.git', 'package.json'].some(name => existsSync(join(folder, name)))) return folder
    if (folder === dirname(folder)) return start
  }
}

/**
 * What the project there is called unless somebody says otherwise.
 *
 * @throws {InvalidInput} for `/`, where programs in containers often run
 */
export function projectName(root: string): string {
  const name = basename(root)
  if (name === '') throw new InvalidInput('project', `has to be given: the folder ${root} has no name to take`)
  return name
}

export function defaultStore(root: string): string {
  return `sqlite:${join(root, '.colloquy', 'colloquy.db')}`
}
