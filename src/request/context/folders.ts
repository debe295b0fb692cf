/**
 * Two ways to list a project's folders without what its ignore files leave out: git's own list, which is fast and
 * exact, or a walk that reads the ignore files. Symbolic links are listed and never followed.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git } from './git.ts'
import { ignoreRules } from './ignore.ts'

export interface FolderEntry {
  readonly name: string
  readonly isFolder: boolean
}

/** The entries of one folder, named by its path from the root (`''` is the root itself). */
export type ListFolder = (path: string) => Promise<readonly FolderEntry[]>

/** Left out even where no ignore file says so, because they do not describe a project. */
export const neverListed: ReadonlySet<string> = new Set(['.git', '.colloquy', 'node_modules'])

/** Lists what git tracks or would track. Undefined without git, and for a folder that git ignores. */
export async function foldersFromGit(root: string): Promise<ListFolder | undefined> {
  const [listed, deleted] = await Promise.all([
    git(root, ['ls-files', '--cached', '--others', '--exclude-standard', '-z']),
    git(root, ['ls-files', '--deleted', '-z']),
  ])
  if (!listed) return undefined
  const gone = new Set(deleted?.split('\0'))
  const folders = new Map<string, Map<string, FolderEntry>>([['', new Map()]])
  for (const path of listed.split('\0')) {
    if (path !== '' && !gone.has(path)) addPath(folders, path)
  }
  return async path => [...(folders.get(path)?.values() ?? [])]
}

function addPath(folders: Map<string, Map<string, FolderEntry>>, path: string): void {
  const names = path.split('/')
  if (names.some(name => neverListed.has(name))) return
  // Git lists a nested repository as a folder with a slash at its end, without its contents.
  const last = names[names.length - 1] === '' ? names.length - 2 : names.length - 1
  let parent = ''
  for (const [depth, name] of names.slice(0, last + 1).entries()) {
    const isFolder = depth < names.length - 1
    folders.get(parent)!.set(name, { name, isFolder })
    if (!isFolder) return
    parent = parent === '' ? name : `${parent}/${name}`
    if (!folders.has(parent)) folders.set(parent, new Map())
  }
}

/**
 * Lists folders by walking them. Undefined when the root cannot be read; an unreadable folder further down is empty.
 * The walk goes from the top: a folder is read only after the one it is in.
 */
export async function foldersFromDisk(root: string): Promise<ListFolder | undefined> {
  try {
    await readdir(root)
  } catch {
    return undefined
  }
  const rules = ignoreRules()
  rules.add('', await textOf(join(root, '.git/info/exclude')))
  return async path => {
    const entries = await readdir(join(root, path), { withFileTypes: true }).catch(() => [])
    rules.add(path, await textOf(join(root, path, '.gitignore')))
    const listed: FolderEntry[] = []
    for (const entry of entries) {
      if (neverListed.has(entry.name)) continue
      const isFolder = entry.isDirectory()
      const inside = path === '' ? entry.name : `${path}/${entry.name}`
      if (!rules.ignores(inside, isFolder)) listed.push({ name: entry.name, isFolder })
    }
    return listed
  }
}

const textOf = (file: string) => readFile(file, 'utf8').catch(() => '')
