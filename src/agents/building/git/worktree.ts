/**
 * The worktree and branch of a feature, where its agents build. A person's checkout is not touched: the worktree is in a
 * folder that git ignores.
 *
 * The caller holds the lease of the work. So a half-created worktree belongs to a crashed process, and is created again.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { RepositoryMissing, WorktreeInUse } from '../../../errors.ts'
import { askGit, git, gitOr, isAncestor, isDirty, worktrees } from './git.ts'

export interface Worktree {
  /** Root folder of the repository's checkout. */
  repository: string
  path: string
  /** Folder of agents: it is to the worktree what the project's root is to the repository. */
  folder: string
  branch: string
  /** Branch that the work starts from and is merged into. */
  base: string
  /** True if this call created it. */
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
 * Creates the worktree and its branch, or opens the existing ones with the work in them.
 *
 * @throws {RepositoryMissing} when there is no repository with a commit
 */
export async function openWorktree({ root, featureId, ...options }: OpenWorktree): Promise<Worktree> {
  const { repository, prefix } = await repositoryOf(root)
  const base = options.base ?? (await checkedOut(root))
  const branch = options.branch ?? `colloquy/${safeName(featureId)}`
  const path = await realPlace(resolve(root, options.path ?? join('.colloquy', 'worktrees', safeName(featureId))))
  const worktree = { repository, path, folder: join(path, prefix), branch, base }
  if (await isComplete(path)) return { ...worktree, isNew: false }
  await hideFromGit(path)
  await discard(repository, path)
  const branchExists =
    (await gitOr(repository, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`)) !== undefined
  const target = branchExists ? [path, branch] : ['-b', branch, path, base]
  await git(repository, 'worktree', 'add', '--quiet', ...target)
  await markComplete(path)
  return { ...worktree, isNew: true }
}

/** Opens a worktree at a commit without a branch, for merging. */
export async function openDetached(repository: string, path: string, commit: string): Promise<void> {
  if (await isComplete(path)) return
  await hideFromGit(path)
  await discard(repository, path)
  await git(repository, 'worktree', 'add', '--quiet', '--detach', path, commit)
  await markComplete(path)
}

/**
 * Removes a worktree whose work is merged. The branch stays.
 *
 * @throws {WorktreeInUse} when some of its work is not committed or not in the base
 */
export async function removeWorktree({
  repository,
  path,
  branch,
  base,
}: Pick<Worktree, 'repository' | 'path' | 'branch' | 'base'>): Promise<void> {
  if (!(await isComplete(path))) return
  const refuse = (reason: string) => new WorktreeInUse({ folder: path, branch, reason })
  if (await isDirty(path)) throw refuse('it has changes that are not committed')
  if (!(await isAncestor(repository, branch, base))) throw refuse(`not all of it is in ${base}`)
  await git(repository, 'worktree', 'remove', path)
}

/** Removes a worktree of merges in any state. */
export async function discard(repository: string, path: string): Promise<void> {
  // The second --force is for a worktree whose creation was interrupted, which is locked.
  if (existsSync(path)) await askGit(repository, 'worktree', 'remove', '--force', '--force', path)
  await rm(path, { recursive: true, force: true })
  await askGit(repository, 'worktree', 'unlock', path)
  await git(repository, 'worktree', 'prune')
}

/** @throws {RepositoryMissing} */
export async function repositoryOf(root: string): Promise<{ repository: string; prefix: string }> {
  const output = await gitOr(root, 'rev-parse', '--show-toplevel', '--show-prefix')
  if (output === undefined) throw new RepositoryMissing({ folder: root, reason: 'is not in a git repository' })
  const [repository = '', prefix = ''] = output.split('\n')
  if ((await gitOr(root, 'rev-parse', '--verify', '--quiet', 'HEAD')) === undefined)
    throw new RepositoryMissing({ folder: root, reason: 'is in a git repository without a commit' })
  return { repository, prefix }
}

/** Returns the checked-out branch. @throws {RepositoryMissing} when there is none */
async function checkedOut(root: string): Promise<string> {
  await repositoryOf(root)
  const branch = await gitOr(root, 'symbolic-ref', '--short', '--quiet', 'HEAD')
  if (branch !== undefined) return branch
  throw new RepositoryMissing({
    folder: root,
    reason: 'has no branch checked out that the work could be merged into; check one out, or name the base',
  })
}

/** Returns a name for files and branches made of an id, different for each id. */
export function safeName(id: string): string {
  const isSafe = /^[a-z0-9]([a-z0-9_-]|\.(?!\.|lock$|$)){0,59}$/.test(id)
  if (isSafe) return id
  const readable = id.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 8)
  return `${readable.slice(0, 40).replace(/^-+|-+$/g, '')}-${digest}`.replace(/^-/, '')
}

/** File in git's folder of the worktree, written last when it is created. */
const completeMark = 'colloquy-whole'

async function isComplete(path: string): Promise<boolean> {
  if (!existsSync(join(path, '.git'))) return false
  const gitFolder = await gitOr(path, 'rev-parse', '--absolute-git-dir')
  if (gitFolder === undefined || !existsSync(join(gitFolder, completeMark))) return false
  const registered = await worktrees(path)
  if (!registered.some(worktree => worktree.path === path)) return false
  await removeStaleLock(gitFolder)
  return true
}

async function markComplete(path: string): Promise<void> {
  await writeFile(join(await git(path, 'rev-parse', '--absolute-git-dir'), completeMark), '')
}

const staleAfterMs = 10_000

/** Removes the lock of a crashed git process; its write never happened. */
async function removeStaleLock(gitFolder: string): Promise<void> {
  const lock = join(gitFolder, 'index.lock')
  const stats = await stat(lock).catch(() => undefined)
  if (stats && Date.now() - stats.mtimeMs > staleAfterMs) await rm(lock, { force: true })
}

/** Writes a .gitignore for the whole folder, so that worktrees do not show up in the status of the checkout. */
async function hideFromGit(path: string): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true })
  const ignore = join(folder, '.gitignore')
  if (!existsSync(ignore)) await writeFile(ignore, '*\n')
}

/** Resolves links, as git does in its output. */
async function realPlace(path: string): Promise<string> {
  const parent = dirname(path)
  await mkdir(parent, { recursive: true })
  return join(await realpath(parent), path.slice(parent.length + 1))
}
