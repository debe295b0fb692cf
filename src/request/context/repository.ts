/**
 * State of a folder's repository, read from git's own files: the commit that is checked out, and the time the index
 * was written. Starting git would cost more than the rest of a fingerprint.
 */
import { readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

/** When something was written last and how large it is; null when it is not there. */
export async function traceOf(path: string): Promise<string | null> {
  try {
    const { mtimeNs, size } = await stat(path, { bigint: true })
    return `${mtimeNs} ${size}`
  } catch {
    return null
  }
}

/** Differs when a commit is checked out, made, or anything is staged; null outside a repository. */
export async function repositoryTrace(root: string): Promise<readonly (string | null)[] | null> {
  const own = await repositoryFolder(resolve(root))
  if (own === null) return null
  // A linked worktree has its own HEAD and index; branches and excludes are shared.
  const link = await textOf(join(own, 'commondir'))
  const shared = link === null ? own : resolve(own, link)
  const head = await textOf(join(own, 'HEAD'))
  const branch = head?.startsWith('ref: ') ? head.slice('ref: '.length) : undefined
  const seen = await Promise.all([
    branch === undefined ? null : textOf(join(shared, branch)),
    // A branch without a file of its own is in one of these, by the repository's format.
    traceOf(join(shared, 'packed-refs')),
    traceOf(join(shared, 'reftable', 'tables.list')),
    traceOf(join(own, 'reftable', 'tables.list')),
    traceOf(join(own, 'index')),
    traceOf(join(shared, 'info', 'exclude')),
  ])
  return [head, ...seen]
}

/** The nearest `.git` at or above a folder, through the file that stands for it in worktrees and submodules. */
async function repositoryFolder(folder: string): Promise<string | null> {
  const place = join(folder, '.git')
  const found = await stat(place).catch(() => undefined)
  if (found?.isDirectory()) return place
  if (found?.isFile()) {
    const link = await textOf(place)
    return link?.startsWith('gitdir: ') ? resolve(folder, link.slice('gitdir: '.length)) : null
  }
  const parent = dirname(folder)
  return parent === folder ? null : repositoryFolder(parent)
}

async function textOf(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch {
    return null
  }
}
