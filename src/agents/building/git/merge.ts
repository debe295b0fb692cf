/**
 * Merges a branch into its base without touching a person's checkout. The merge is made and checked in a separate worktree;
 * then the base moves to it in one step.
 *
 * Every function looks at the state of git first, so that it can be called again after a crash: a finished merge is
 * reused, a half-finished one resumed or repeated.
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
  /** Worktree of the merge, used by code and the merging agent only. */
  path: string
  branch: string
  base: string
  /** The first line of the merge commit. */
  subject: string
}

type Merge =
  /** The base includes the branch. */
  | { state: 'landed'; commit: string }
  /** The merge is committed in the worktree; the base has not moved. */
  | { state: 'made'; commit: string; onto: string }
  /** These files are in conflict. */
  | { state: 'conflicted'; files: string[]; onto: string }

export async function makeMerge(place: MergePlace): Promise<Merge> {
  const { repository, path, branch, base, subject } = place
  const tip = await git(repository, 'rev-parse', `refs/heads/${branch}`)
  const onto = await git(repository, 'rev-parse', `refs/heads/${base}`)
  if (await isAncestor(repository, tip, onto)) return { state: 'landed', commit: onto }
  await openDetached(repository, path, onto)
  const earlierMerge = await findMerge(path, { tip, onto })
  if (earlierMerge) return earlierMerge
  await askGit(path, 'merge', '--abort')
  await git(path, 'reset', '--quiet', '--hard')
  await git(path, 'clean', '--quiet', '-fd')
  await git(path, 'checkout', '--quiet', '--detach', onto)
  const committer = await identity(path)
  const { exitCode, stderr, stdout } = await askGit(
    path,
    ...committer,
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

/** Finds a merge of these two commits in the worktree, left by a crashed call. */
async function findMerge(path: string, { tip, onto }: { tip: string; onto: string }): Promise<Merge | undefined> {
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

/** Lists files in conflict. */
async function unmerged(path: string): Promise<string[]> {
  const output = await git(path, 'diff', '--name-only', '--diff-filter=U', '-z')
  return output.split('\0').filter(Boolean)
}

/** Commits the conflicted files. Returns those that still have conflict marks; then nothing is committed. */
export async function commitResolution(path: string, files: readonly string[]): Promise<string[]> {
  const unresolved: string[] = []
  for (const file of files) {
    const filePath = join(path, file)
    const text = existsSync(filePath) ? await readFile(filePath, 'utf8') : ''
    if (/^(<{7}|>{7}) /m.test(text)) unresolved.push(file)
  }
  if (unresolved.length > 0) return unresolved
  await git(path, 'add', '--all')
  if ((await gitOr(path, 'rev-parse', '--verify', '--quiet', 'MERGE_HEAD')) !== undefined)
    await git(path, ...(await identity(path)), 'commit', '--quiet', '--no-gpg-sign', '--no-edit')
  return []
}

type Landing =
  | { landed: true }
  /** The base has moved since the merge: merge again. */
  | { landed: false; why: 'moved' }
  /** A checkout of the base is in the way; `reason` says what to do. */
  | { landed: false; why: 'checkout'; reason: string }

/**
 * Moves the base to the merge, if it has not moved since. A clean checkout of the base is moved with git's fast-forward: if
 * only the ref moved, the checkout would look as if the work had been undone.
 */
export async function land(
  { repository, base }: MergePlace,
  { commit, onto }: { commit: string; onto: string },
  { movesCheckouts }: { movesCheckouts: boolean },
): Promise<Landing> {
  const ref = `refs/heads/${base}`
  const checkout = (await worktrees(repository)).find(({ branch }) => branch === base)
  if (!checkout) {
    const { exitCode } = await askGit(repository, 'update-ref', '-m', 'colloquy: merge', ref, commit, onto)
    return exitCode === 0 ? { landed: true } : { landed: false, why: 'moved' }
  }
  if ((await git(repository, 'rev-parse', ref)) !== onto) return { landed: false, why: 'moved' }
  const waiting = (because: string): Landing => ({
    landed: false,
    why: 'checkout',
    reason: `${base} is checked out in ${checkout.path}${because}; bring the work in with: git -C ${checkout.path} merge --ff-only ${commit.slice(0, 12)}`,
  })
  if (!movesCheckouts) return waiting('')
  const changed = await git(checkout.path, 'status', '--porcelain', '--untracked-files=no')
  if (changed !== '') return waiting(' with changes that are not committed')
  const { exitCode, stderr } = await askGit(checkout.path, 'merge', '--quiet', '--ff-only', commit)
  return exitCode === 0 ? { landed: true } : waiting(`, and git says: ${stderr.trim().split('\n')[0]}`)
}

/** Removes a failed merge. The base and the branch stay unchanged. */
export function discardMerge({ repository, path }: MergePlace): Promise<void> {
  return discard(repository, path)
}
