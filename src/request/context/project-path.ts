/**
 * The real place of a path, inside the project's root or not: `..`, absolute paths and symbolic links are followed to
 * the end, also for a file that does not exist yet.
 */
import { lstat, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, parse, relative, sep } from 'node:path'

export type ProjectPath =
  | {
      inside: true /** From the root, with `/`. */
      path: string
      absolute: string
      kind: 'file' | 'folder' | 'nothing' | 'other'
    }
  | { inside: false; reason: string }

const separators = sep === '\\' ? /[\\/]/ : /\//

/** Folders that no agent may write to: files of git run code, and the store is the log itself. */
const untouchable: ReadonlySet<string> = new Set(['.git', '.colloquy'])

export async function projectPath(root: string, path: string): Promise<ProjectPath> {
  if (path === '' || path.includes('\0')) return { inside: false, reason: 'is no path' }
  const realRoot = await realpath(root)
  const found = await reallyAt(realRoot, path)
  if (!found) return { inside: false, reason: 'leads nowhere, or where it leads cannot be told' }
  const inside = relative(realRoot, found.absolute)
  if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    return { inside: false, reason: inside === '' ? 'is the project itself' : 'leads out of the project' }
  const names = inside.split(sep)
  const refused = names.find(name => untouchable.has(name.toLowerCase()))
  if (refused !== undefined) return { inside: false, reason: `is in ${refused}, which agents may not touch` }
  return { inside: true, path: names.join('/'), absolute: found.absolute, kind: found.kind }
}

type Kind = Extract<ProjectPath, { inside: true }>['kind']

/**
 * Goes along the path name by name as the operating system does: `..` after a link leads back from where the link leads,
 * not from where it stands. What is not there yet is placed in the real folder it would be made in.
 */
async function reallyAt(start: string, path: string): Promise<{ absolute: string; kind: Kind } | undefined> {
  let absolute = isAbsolute(path) ? parse(path).root : start
  let kind: Kind = 'folder'
  for (const name of path.slice(parse(path).root.length).split(separators)) {
    if (name === '' || name === '.') continue
    // A file has no children, and a missing folder has no parent to return to.
    if (kind !== 'folder' && (kind !== 'nothing' || name === '..')) return undefined
    if (name === '..') absolute = dirname(absolute)
    else if (kind === 'nothing') absolute = join(absolute, name)
    else {
      const next = await step(join(absolute, name))
      if (!next) return undefined
      absolute = next.absolute
      kind = next.kind
    }
  }
  return { absolute, kind }
}

async function step(path: string): Promise<{ absolute: string; kind: Kind } | undefined> {
  try {
    await lstat(path)
  } catch (error) {
    return isMissing(error) ? { absolute: path, kind: 'nothing' } : undefined
  }
  try {
    const absolute = await realpath(path)
    const stats = await lstat(absolute)
    return { absolute, kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other' }
  } catch {
    // A dangling link: a write would follow it.
    return undefined
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
