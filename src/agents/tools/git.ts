/** Git tools: inspect the repository of the work tree, and commit. Hooks, pagers and external programs are off. */
import { z } from 'zod'
import { gitAnswer } from '../../request/context/git.ts'
import { insidePath } from './paths.ts'
import { shorten, type ToolCall, ToolRefused, tool } from './tool.ts'

const path = z.string().min(1).optional().describe('only this file or folder, from the project root')

export const gitStatusTool = tool({
  name: 'git_status',
  description: 'Returns the current branch, and the changed, staged and new files.',
  input: z.strictObject({}),
  run: (_, call) => git(call, ['status', '--short', '--branch']),
})

export const gitDiffTool = tool({
  name: 'git_diff',
  description: 'Returns the changes in the work tree since the last commit, or since another one.',
  input: z.strictObject({
    path,
    since: z
      .string()
      .regex(/^[\w./~^@{}-]+$/)
      .optional()
      .describe('a commit or branch; default HEAD'),
    staged: z.boolean().optional().describe('only staged changes'),
  }),
  async run({ path, since = 'HEAD', staged = false }, call) {
    if (since.startsWith('-')) throw new ToolRefused(`"${since}" is not a commit.`)
    const where = await pathsOf(call, path)
    return git(call, [
      'diff',
      '--no-ext-diff',
      '--no-textconv',
      '--no-color',
      ...(staged ? ['--cached'] : []),
      since,
      ...where,
    ])
  },
})

export const gitLogTool = tool({
  name: 'git_log',
  description: 'Returns the newest commits, with hash, date, author and subject.',
  input: z.strictObject({ path, count: z.int().min(1).max(200).optional().describe('default 20') }),
  async run({ path, count = 20 }, call) {
    const format = '--format=%h %ad %an: %s'
    return git(call, ['log', `-${count}`, '--date=short', '--no-color', format, ...(await pathsOf(call, path))])
  },
})

export const gitCommitTool = tool({
  name: 'git_commit',
  description: 'Commits the named files, or all changes. Never pushes.',
  input: z.strictObject({
    message: z.string().min(1).max(10_000),
    paths: z.array(z.string().min(1)).optional().describe('from the project root; default all changes'),
  }),
  async run({ message, paths }, call) {
    const where = paths
      ? await Promise.all(paths.map(async path => (await insidePath(call.root, path)).path))
      : ['.', ':(exclude).colloquy']
    await git(call, ['add', '--all', '--', ...where])
    await git(call, ['commit', '--no-gpg-sign', '--quiet', '-m', message, ...(paths ? ['--', ...where] : [])])
    return git(call, ['log', '-1', '--no-color', '--stat', '--format=%h %s'])
  },
})

async function pathsOf({ root }: ToolCall, path: string | undefined): Promise<string[]> {
  return path === undefined || path === '.' ? [] : ['--', (await insidePath(root, path)).path]
}

async function git({ root, signal, limits }: ToolCall, args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await gitAnswer(root, args, { signal })
  if (exitCode !== 0) throw new ToolRefused(shorten(`git ${args[0]}: ${(stderr || stdout).trim()}`, limits.characters))
  return shorten(stdout.trim() || '(nothing)', limits.characters)
}
