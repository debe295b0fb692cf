/**
 * A worktree and a branch of a feature's own, where its agents build. A person's checkout is not touched: git keeps the
 * worktree beside it, in a folder that git does not look into.
 *
 * Whoever opens one holds the lease of the work, so what is found half made is nobody else's, and is made again.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { RepositoryMissing, WorktreeInUse } from '../../../errors.ts'
import { askGit, git, gitOr, isAncestor, isDirty, worktrees } from './git.ts'

export interface Worktree {
  /** Of the repository: where its checkout is. */
  repository: string
  path: string
  /** Where agents work: as far below as the project's root is below the repository's. */
  folder: string
  branch: string
  /** The branch it came off, and is to be taken into. */
  base: string
  /** It was not there before. */
  isNew: boolean
}

interface OpenWorktree {
  /** The project's folder. */
  root: string
  featureId: string
  /** Default: made from the feature's id. */
  branch?: string | undefined
  /** Default: the branch that is checked out in the project's folder. */
  base?: string | undefined
  /** Default: `.colloquy/worktrees/NAME` in the project's folder. */
  path?: string | undefined
}

/**
 * Makes the worktree and its branch, or gives those that are there, with whatever work is in them.
 *
 * @throws {RepositoryMissing} when there is no repository, or nothing in it yet
 */
export async function openWorktree({ root, featureId, ...wanted }: OpenWorktree): Promise<Worktree> {
  const { repository, prefix } = await repositoryOf(root)
  const base = wanted.base ?? (await checkedOut(root))
  const branch = wanted.branch ?? `colloquy/${safeName(featureId)}`
  const path = await realPlace(resolve(root, wanted.path ?? join('.colloquy', 'worktrees', safeName(featureId))))
  const found = { repository, path, folder: join(path, prefix), branch, base }
  if (await isWhole(path)) return { ...found, isNew: false }
  await hideFromGit(path)
  await discard(repository, path)
  const isKnown = (await gitOr(repository, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`)) !== undefined
  const how = isKnown ? [path, branch] : ['-b', branch, path, base]
  await git(repository, 'worktree', 'add', '--quiet', ...how)
  await markWhole(path)
  return { ...found, isNew: true }
}

/** The same without a branch, at a commit: for merging, where nothing but code works. */
export async function openDetached(repository: string, path: string, commit: string): Promise<void> {
  if (await isWhole(path)) return
  await hideFromGit(path)
  await discard(repository, path)
  await git(repository, 'worktree', 'add', '--quiet', '--detach', path, commit)
  await markWhole(path)
}

/**
 * Removes a worktree whose work is all in its base. The branch stays.
 *
 * @throws {WorktreeInUse} when something in it is not committed, or not in the base
 */
export async function removeWorktree({
  repository,
  path,
  branch,
  base,
}: Pick<Worktree, 'repository' | 'path' | 'branch' | 'base'>): Promise<void> {
  if (!(await isWhole(path))) return
  const refuse = (reason: string) => new WorktreeInUse({ folder: path, branch, reason })
  if (await isDirty(path)) throw refuse('it has changes that are not committed')
  if (!(await isAncestor(repository, branch, base))) throw refuse(`not all of it is in ${base}`)
  await git(repository, 'worktree', 'remove', path)
}

/** Removes a worktree that only code works in, whatever state it is in. */
export async function discard(repository: string, path: string): Promise<void> {
  // Twice forced: one that was cut off while it was made is locked.
  if (existsSync(path)) await askGit(repository, 'worktree', 'remove', '--force', '--force', path)
  await rm(path, { recursive: true, force: true })
  await askGit(repository, 'worktree', 'unlock', path)
  await git(repository, 'worktree', 'prune')
}

/** @throws {RepositoryMissing} */
export async function repositoryOf(root: string): Promise<{ repository: string; prefix: string }> {
  const found = await gitOr(root, 'rev-parse', '--show-toplevel', '--show-prefix')
  if (found === undefined) throw new RepositoryMissing({ folder: root, reason: 'is not in a git repository' })
  const [repository = '', prefix = ''] = found.split('\n')
  if ((await gitOr(root, 'rev-parse', '--verify', '--quiet', 'HEAD')) === undefined)
    throw new RepositoryMissing({ folder: root, reason: 'is in a git repository without a commit' })
  return { repository, prefix }
}

/** The branch that is checked out. @throws {RepositoryMissing} when none is */
async function checkedOut(root: string): Promise<string> {
  await repositoryOf(root)
  const branch = await gitOr(root, 'symbolic-ref', '--short', '--quiet', 'HEAD')
  if (branch !== undefined) return branch
  throw new RepositoryMissing({
    folder: root,
    reason: 'has no branch checked out, so it is not known which one the work is for; name it as the base',
  })
}

/** A name for files and branches, from an id that may have anything in it. Different ids have different names. */
export function safeName(id: string): string {
  const isSafe = /^[a-z0-9]([a-z0-9_-]|\.(?!\.|lock$|$)){0,59}$/.test(id)
  if (isSafe) return id
  const readable = id.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 8)
  return `${readable.slice(0, 40).replace(/^-+|-+$/g, '')}-${digest}`.replace(/^-/, '')
}

/** Written into git's own folder of the worktree when all of it is there. */
const wholeMark = 'colloquy-whole'

async function isWhole(path: string): Promise<boolean> {
  if (!existsSync(join(path, '.git'))) return false
  const own = await gitOr(path, 'rev-parse', '--absolute-git-dir')
  if (own === undefined || !existsSync(join(own, wholeMark))) return false
  const listed = await worktrees(path)
  if (!listed.some(one => one.path === path)) return false
  await removeStaleLock(own)
  return true
}

async function markWhole(path: string): Promise<void> {
  await writeFile(join(await git(path, 'rev-parse', '--absolute-git-dir'), wholeMark), '')
}

const staleAfterMs = 10_000

/** Whoever wrote it is gone, or it would be done by now: what it was about to write is not there. */
async function removeStaleLock(gitFolder: string): Promise<void> {
  const lock = join(gitFolder, 'index.lock')
  const found = await stat(lock).catch(() => undefined)
  if (found && Date.now() - found.mtimeMs > staleAfterMs) await rm(lock, { force: true })
}

/** A file that ignores its whole folder: nothing of ours shows up in the status of the checkout around it. */
async function hideFromGit(path: string): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true })
  const ignore = join(folder, '.gitignore')
  if (!existsSync(ignore)) await writeFile(ignore, '*\n')
}

/** As git tells it: with links resolved. */
async function realPlace(path: string): Promise<string> {
  const parent = dirname(path)
  await mkdir(parent, { recursive: true })
  return join(await realpath(parent), path.slice(parent.length + 1))
}
