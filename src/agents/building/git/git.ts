/**
 * Git as code uses it to change a repository: no hooks, no pager, no prompt, and in a process group of its own, so that
 * neither a Ctrl-C nor the end of this process cuts a change off in the middle.
 */
import { spawn } from 'node:child_process'
import { GitFailed } from '../../../errors.ts'
import { gitEnvironment, harmless } from '../../../request/context/git.ts'

interface GitAnswer {
  exitCode: number | null
  stdout: string
  stderr: string
}

/** What git answers, whatever it is. */
export function askGit(folder: string, ...args: readonly string[]): Promise<GitAnswer> {
  return new Promise(resolve => {
    const child = spawn('git', [...harmless, ...args], {
      cwd: folder,
      env: { ...gitEnvironment(), LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const answer: GitAnswer = { exitCode: null, stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', text => {
      answer.stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', text => {
      answer.stderr += text
    })
    child.on('error', error => resolve({ ...answer, stderr: error.message }))
    child.on('close', exitCode => resolve({ ...answer, exitCode }))
  })
}

/** What git prints, without the line break at its end. @throws {GitFailed} */
export async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await askGit(folder, ...args)
  if (exitCode === 0) return stdout.trimEnd()
  const said = (stderr || stdout).trim().slice(-2_000)
  throw new GitFailed({ folder, command: args[0] ?? '', exitCode, said })
}

/** What git prints, or nothing where it says no. */
export async function gitOr(folder: string, ...args: readonly string[]): Promise<string | undefined> {
  const { exitCode, stdout } = await askGit(folder, ...args)
  return exitCode === 0 ? stdout.trimEnd() : undefined
}

export async function isAncestor(folder: string, older: string, newer: string): Promise<boolean> {
  return (await askGit(folder, 'merge-base', '--is-ancestor', older, newer)).exitCode === 0
}

/** Whether tracked files, or new ones that are not ignored, differ from the newest commit. */
export async function isDirty(folder: string): Promise<boolean> {
  return (await git(folder, 'status', '--porcelain', '-z')) !== ''
}

/** Who commits where the repository does not say: it must not fail for want of a name. */
export async function identity(folder: string): Promise<string[]> {
  if (await gitOr(folder, 'config', 'user.email')) return []
  return ['-c', 'user.name=Colloquy', '-c', 'user.email=colloquy@localhost']
}

interface CommitState {
  commit: string
  tree: string
}

/**
 * Commits all there is in a worktree. Nothing to commit, or a commit with this very mark on top, changes nothing: so it can
 * be asked for again after a crash.
 */
export async function commitAll(folder: string, { subject, mark }: { subject: string; mark: string }) {
  const newest = await git(folder, 'log', '-1', '--format=%B')
  const isMarked = newest.split('\n').includes(mark)
  await git(folder, 'add', '--all')
  const isEmpty = (await askGit(folder, 'diff', '--cached', '--quiet')).exitCode === 0
  if (!isEmpty && !isMarked) {
    const message = `${subject}\n\n${mark}`
    await git(folder, ...(await identity(folder)), 'commit', '--quiet', '--no-gpg-sign', '-m', message)
  } else if (!isEmpty) {
    // What came after it belongs to the same piece of work.
    await git(folder, ...(await identity(folder)), 'commit', '--quiet', '--no-gpg-sign', '--amend', '--no-edit')
  }
  return commitState(folder)
}

export async function commitState(folder: string, revision = 'HEAD'): Promise<CommitState> {
  const [commit = '', tree = ''] = (await git(folder, 'rev-parse', revision, `${revision}^{tree}`)).split('\n')
  return { commit, tree }
}

interface ListedWorktree {
  path: string
  /** Without `refs/heads/`; undefined where no branch is checked out. */
  branch?: string
}

export async function worktrees(folder: string): Promise<ListedWorktree[]> {
  const listed = await git(folder, 'worktree', 'list', '--porcelain', '-z')
  return listed.split('\0\0').flatMap(block => {
    const lines = block.split('\0')
    const path = lines.find(line => line.startsWith('worktree '))?.slice('worktree '.length)
    const branch = lines.find(line => line.startsWith('branch '))?.slice('branch refs/heads/'.length)
    return path === undefined ? [] : [{ path, ...(branch !== undefined && { branch }) }]
  })
}
