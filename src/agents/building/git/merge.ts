/**
 * Takes a branch into its base without touching anybody's checkout: the merge is made in a worktree of its own, checked
 * there, and only then does the base move on to it, in one step.
 *
 * Every function looks first at what git has, so each can be called again after a crash at any point: a merge that was
 * made is found, one that is half made goes on or is made anew, and a base that has the work is left alone.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GitFailed } from '../../../errors.ts'
import { askGit, git, gitOr, identity, isAncestor, isDirty, worktrees } from './git.ts'
import { discard, openDetached } from './worktree.ts'

export interface MergePlace {
  /** Any checkout of the repository. */
  repository: string
  /** Where it is merged: a worktree that only code and the merging agent work in. */
  path: string
  branch: string
  base: string
  /** The first line of the merge commit. */
  subject: string
}

type Merge =
  /** The base has all of the branch already. */
  | { state: 'landed'; commit: string }
  /** Made and committed in the worktree; the base has not moved yet. */
  | { state: 'made'; commit: string; onto: string }
  /** Both changed the same places; these files want a decision. */
  | { state: 'conflicted'; files: string[]; onto: string }

export async function makeMerge(place: MergePlace): Promise<Merge> {
  const { repository, path, branch, base, subject } = place
  const tip = await git(repository, 'rev-parse', `refs/heads/${branch}`)
  const onto = await git(repository, 'rev-parse', `refs/heads/${base}`)
  if (await isAncestor(repository, tip, onto)) return { state: 'landed', commit: onto }
  await openDetached(repository, path, onto)
  const begun = await begunMerge(path, { tip, onto })
  if (begun) return begun
  await askGit(path, 'merge', '--abort')
  await git(path, 'reset', '--quiet', '--hard')
  await git(path, 'clean', '--quiet', '-fd')
  await git(path, 'checkout', '--quiet', '--detach', onto)
  const who = await identity(path)
  const { exitCode, stderr, stdout } = await askGit(
    path,
    ...who,
    'merge',
    '--quiet',
    '--no-ff',
    '--no-edit',
    '--no-gpg-sign',
    '-m',
    subject,
    tip,
  )
  if (exitCode === 0) return { state: 'made', commit: await git(path, 'rev-parse', 'HEAD'), onto }
  const files = await unmerged(path)
  if (files.length > 0) return { state: 'conflicted', files, onto }
  throw new GitFailed({ folder: path, command: 'merge', exitCode, said: (stderr || stdout).trim() })
}

/** What is in the worktree from before, if it is a merge of these two and no others. */
async function begunMerge(path: string, { tip, onto }: { tip: string; onto: string }): Promise<Merge | undefined> {
  const head = await git(path, 'rev-parse', 'HEAD')
  const merging = await gitOr(path, 'rev-parse', '--verify', '--quiet', 'MERGE_HEAD')
  if (merging !== undefined) {
    if (merging !== tip || head !== onto) return undefined
    return { state: 'conflicted', files: await unmerged(path), onto }
  }
  if (head === onto || (await isDirty(path))) return undefined
  const isBoth = (await isAncestor(path, tip, head)) && (await isAncestor(path, onto, head))
  return isBoth ? { state: 'made', commit: head, onto } : undefined
}

/** Files that want a decision still. */
async function unmerged(path: string): Promise<string[]> {
  const named = await git(path, 'diff', '--name-only', '--diff-filter=U', '-z')
  return named.split('\0').filter(Boolean)
}

/** Commits what stands in the conflicted files now. Gives those in which marks are left; then nothing is committed. */
export async function commitResolution(path: string, files: readonly string[]): Promise<string[]> {
  const left: string[] = []
  for (const file of files) {
    const place = join(path, file)
    const text = existsSync(place) ? await readFile(place, 'utf8') : ''
    if (/^(<{7}|>{7}) /m.test(text)) left.push(file)
  }
  if (left.length > 0) return left
  await git(path, 'add', '--all')
  if ((await gitOr(path, 'rev-parse', '--verify', '--quiet', 'MERGE_HEAD')) !== undefined)
    await git(path, ...(await identity(path)), 'commit', '--quiet', '--no-gpg-sign', '--no-edit')
  return []
}

type Landed =
  | { landed: true }
  /** The base moved on meanwhile: merge again. */
  | { landed: false; why: 'moved' }
  /** Somebody's checkout is in the way: what to do. */
  | { landed: false; why: 'checkout'; reason: string }

/**
 * Moves the base on to a merge of it. Where nobody has it checked out, its ref is moved, if it is still where it was. A
 * checkout of it follows with git's own fast-forward, and only a clean one: a ref that moved under a checkout would make
 * it look as if somebody had undone the work.
 */
export async function land(
  { repository, base }: MergePlace,
  { commit, onto }: { commit: string; onto: string },
  { movesCheckouts }: { movesCheckouts: boolean },
): Promise<Landed> {
  const ref = `refs/heads/${base}`
  const checkout = (await worktrees(repository)).find(one => one.branch === base)
  if (!checkout) {
    const { exitCode } = await askGit(repository, 'update-ref', '-m', 'colloquy: merge', ref, commit, onto)
    return exitCode === 0 ? { landed: true } : { landed: false, why: 'moved' }
  }
  if ((await git(repository, 'rev-parse', ref)) !== onto) return { landed: false, why: 'moved' }
  const waits = (because: string): Landed => ({
    landed: false,
    why: 'checkout',
    reason: `${base} is checked out in ${checkout.path}${because}; bring the work in with: git -C ${checkout.path} merge --ff-only ${commit.slice(0, 12)}`,
  })
  if (!movesCheckouts) return waits('')
  const changed = await git(checkout.path, 'status', '--porcelain', '--untracked-files=no')
  if (changed !== '') return waits(' with changes that are not committed')
  const { exitCode, stderr } = await askGit(checkout.path, 'merge', '--quiet', '--ff-only', commit)
  return exitCode === 0 ? { landed: true } : waits(`, and git says: ${stderr.trim().split('\n')[0]}`)
}

/** Puts a merge that cannot be made away. The base and the branch are as they were. */
export function giveUp({ repository, path }: MergePlace): Promise<void> {
  return discard(repository, path)
}
