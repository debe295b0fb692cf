/**
 * Runs git without hooks, pager and prompts. Each command has its own process group, so that neither Ctrl-C nor the end of
 * this process interrupts a change.
 */
import { spawn } from 'node:child_process'
import { GitFailed } from '../../../errors.ts'
import { gitEnvironment, harmless } from '../../../request/context/git.ts'

interface GitResult {
  exitCode: number | null
  stdout: string
  stderr: string
}

/** Runs a git command. A failure is in the result. */
export function askGit(folder: string, ...args: readonly string[]): Promise<GitResult> {
  return new Promise(resolve => {
    const child = spawn('git', [...harmless, ...args], {
      cwd: folder,
      env: { ...gitEnvironment(), LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const result: GitResult = { exitCode: null, stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', text => {
      result.stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', text => {
      result.stderr += text
    })
    child.on('error', error => resolve({ ...result, stderr: error.message }))
    child.on('close', exitCode => resolve({ ...result, exitCode }))
  })
}

/** Returns the output of git without trailing whitespace. @throws {GitFailed} */
export async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await askGit(folder, ...args)
  if (exitCode === 0) return stdout.trimEnd()
  const said = (stderr || stdout).trim().slice(-2_000)
  throw new GitFailed({ folder, command: args[0] ?? '', exitCode, said })
}

/** Returns the output of git, undefined when the command fails. */
export async function gitOr(folder: string, ...args: readonly string[]): Promise<string | undefined> {
  const { exitCode, stdout } = await askGit(folder, ...args)
  return exitCode === 0 ? stdout.trimEnd() : undefined
}

export async function isAncestor(folder: string, older: string, newer: string): Promise<boolean> {
  return (await askGit(folder, 'merge-base', '--is-ancestor', older, newer)).exitCode === 0
}

/** Returns true if tracked files, or new files that are not ignored, differ from the newest commit. */
export async function isDirty(folder: string): Promise<boolean> {
  return (await git(folder, 'status', '--porcelain', '-z')) !== ''
}

/** Arguments that name the committer if the repository has none: without them a commit would fail. */
export async function identity(folder: string): Promise<string[]> {
  if (await gitOr(folder, 'config', 'user.email')) return []
  return ['-c', 'user.name=Colloquy', '-c', 'user.email=colloquy@localhost']
}

interface CommitState {
  commit: string
  tree: string
}

/**
 * Commits all changes of a worktree. Later changes are added to a newest commit with the same mark, so that the call can be
 * repeated after a crash.
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
  const output = await git(folder, 'worktree', 'list', '--porcelain', '-z')
  return output.split('\0\0').flatMap(block => {
    const lines = block.split('\0')
    const path = lines.find(line => line.startsWith('worktree '))?.slice('worktree '.length)
    const branch = lines.find(line => line.startsWith('branch '))?.slice('branch refs/heads/'.length)
    return path === undefined ? [] : [{ path, ...(branch !== undefined && { branch }) }]
  })
}
