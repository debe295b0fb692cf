/** Where a project is, and where its store is unless somebody says otherwise. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The nearest folder above that looks like a workspace, else this one. */
export function projectRoot(start = process.cwd()): string {
  for (let folder = start; ; folder = dirname(folder)) {
    if (['.colloquy', '.git', 'package.json'].some(name => existsSync(join(folder, name)))) return folder
    if (folder === dirname(folder)) return start
  }
}

export function defaultStore(root: string): string {
  return `sqlite:${join(root, '.colloquy', 'colloquy.db')}`
}
