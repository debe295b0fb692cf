/**
 * Where a path really leads, inside the project's root or not: `..`, absolute paths and symbolic links followed to the
 * end, also for a file that is not there yet.
 */
import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

export type ProjectPath =
  | {
      inside: true /** From the root, with `/`. */
      path: string
      absolute: string
      kind: 'file' | 'folder' | 'nothing' | 'other'
    }
  | { inside: false; reason: string }

/** Nobody's to write, whoever has read it: git's own files run code, and the store is the log itself. */
const untouchable: ReadonlySet<string> = new Set(['.git', '.colloquy'])

export async function projectPath(root: string, path: string): Promise<ProjectPath> {
  if (path === '' || path.includes('\0')) return { inside: false, reason: 'is no path' }
  const realRoot = await realpath(root)
  const found = await reallyAt(resolve(realRoot, path))
  if (!found) return { inside: false, reason: 'is a link that leads nowhere, or cannot be followed' }
  const inside = relative(realRoot, found.absolute)
  if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    return { inside: false, reason: inside === '' ? 'is the project itself' : 'leads out of the project' }
  const names = inside.split(sep)
  const refused = names.find(name => untouchable.has(name.toLowerCase()))
  if (refused !== undefined) return { inside: false, reason: `is in ${refused}, which agents may not touch` }
  return { inside: true, path: names.join('/'), absolute: found.absolute, kind: found.kind }
}

type Kind = Extract<ProjectPath, { inside: true }>['kind']

/** The real place of a path. What is not there yet is placed in the real folder it would be made in. */
async function reallyAt(path: string): Promise<{ absolute: string; kind: Kind } | undefined> {
  try {
    const absolute = await realpath(path)
    const stats = await lstat(absolute)
    return { absolute, kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other' }
  } catch (error) {
    if (!isMissing(error)) return undefined
  }
  // A link whose target is missing would be followed by whoever writes: it is not "nothing there".
  const isLink = await lstat(path).then(
    stats => stats.isSymbolicLink(),
    error => !isMissing(error),
  )
  if (isLink || path === dirname(path)) return undefined
  const folder = await reallyAt(dirname(path))
  if (!folder || (folder.kind !== 'folder' && folder.kind !== 'nothing')) return undefined
  return { absolute: join(folder.absolute, basename(path)), kind: 'nothing' }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
