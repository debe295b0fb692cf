/** Worktrees of features, separate from a person's checkout. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commit, folderWith, repositoryWith, runGit, write } from '../../../../test/support/repository.ts'
import { RepositoryMissing, WorktreeInUse } from '../../../errors.ts'
import { commitAll } from './git.ts'
import { openWorktree, removeWorktree, safeName } from './worktree.ts'

function project(): string {
  const root = repositoryWith({ 'a.txt': 'one\n', 'web/b.txt': 'two\n' })
  runGit(root, 'checkout', '--quiet', '-b', 'main')
  commit(root, 'first')
  return root
}

describe('a worktree', () => {
  it('a worktree is made with a branch of its own, and is not seen in the checkout around it', async () => {
    const root = project()
    write(root, { 'a.txt': 'changed by a person\n', 'new.txt': 'new\n' })
    const before = runGit(root, 'status', '--porcelain')
    const worktree = await openWorktree({ root, featureId: 'login' })
    expect(worktree).toMatchObject({ branch: 'colloquy/login', base: 'main', isNew: true })
    expect(worktree.path).toBe(join(worktree.repository, '.colloquy/worktrees/login'))
    expect(readFileSync(join(worktree.path, 'a.txt'), 'utf8')).toBe('one\n')
    expect(runGit(root, 'status', '--porcelain')).toBe(before)
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('changed by a person\n')
  })

  it('a worktree is found again with the work in it', async () => {
    const root = project()
    const worktree = await openWorktree({ root, featureId: 'login' })
    write(worktree.path, { 'a.txt': 'in the middle of something\n' })
    expect(await openWorktree({ root, featureId: 'login' })).toEqual({ ...worktree, isNew: false })
    expect(readFileSync(join(worktree.path, 'a.txt'), 'utf8')).toBe('in the middle of something\n')
  })

  it('a worktree that was half made is made again, and so is one whose folder is gone; the branch keeps its commits', async () => {
    const root = project()
    const worktree = await openWorktree({ root, featureId: 'login' })
    write(worktree.path, { 'c.txt': 'three\n' })
    await commitAll(worktree.path, { subject: 'work', mark: 'Mark: 1' })
    const own = runGit(worktree.path, 'rev-parse', '--absolute-git-dir').trim()
    rmSync(join(own, 'colloquy-whole'))
    writeFileSync(join(own, 'locked'), 'initializing')
    rmSync(join(worktree.path, 'a.txt'))
    const reopened = await openWorktree({ root, featureId: 'login' })
    expect(reopened.isNew).toBe(true)
    expect(readFileSync(join(reopened.path, 'a.txt'), 'utf8')).toBe('one\n')
    rmSync(worktree.path, { recursive: true })
    const third = await openWorktree({ root, featureId: 'login' })
    expect(existsSync(join(third.path, 'c.txt'))).toBe(true)
    mkdirSync(join(root, '.colloquy/worktrees/other'))
    write(root, { '.colloquy/worktrees/other/half.txt': '' })
    expect((await openWorktree({ root, featureId: 'other' })).isNew).toBe(true)
  })

  it('a worktree of a project below the root of its repository has its folder there', async () => {
    const root = project()
    const worktree = await openWorktree({ root: join(root, 'web'), featureId: 'login' })
    expect(existsSync(join(worktree.folder, 'b.txt'))).toBe(true)
    expect(worktree.folder).not.toBe(worktree.path)
  })

  it('a worktree needs a repository, a commit, and a branch', async () => {
    await expect(openWorktree({ root: folderWith({}), featureId: 'x' })).rejects.toThrow(RepositoryMissing)
    await expect(openWorktree({ root: repositoryWith({}), featureId: 'x' })).rejects.toThrow('without a commit')
    const root = project()
    runGit(root, 'checkout', '--quiet', '--detach')
    await expect(openWorktree({ root, featureId: 'x' })).rejects.toThrow('or name the base')
    expect((await openWorktree({ root, featureId: 'x', base: 'main' })).base).toBe('main')
  })

  it('a worktree is removed when all of it is elsewhere, and never before', async () => {
    const root = project()
    const worktree = await openWorktree({ root, featureId: 'login' })
    write(worktree.path, { 'c.txt': 'three\n' })
    await expect(removeWorktree(worktree)).rejects.toThrow(WorktreeInUse)
    await commitAll(worktree.path, { subject: 'work', mark: 'Mark: 1' })
    await expect(removeWorktree(worktree)).rejects.toThrow('not all of it is in main')
    expect(existsSync(join(worktree.path, 'c.txt'))).toBe(true)
    runGit(root, 'merge', '--quiet', '--ff-only', 'colloquy/login')
    await removeWorktree(worktree)
    expect(existsSync(worktree.path)).toBe(false)
    expect(runGit(root, 'branch', '--list', 'colloquy/login')).toContain('colloquy/login')
    await removeWorktree(worktree)
  })
})

describe('a commit of an iteration', () => {
  it('a commit of an iteration is made once: a repeated call keeps it, and no changes are no commit', async () => {
    const root = project()
    const first = runGit(root, 'rev-parse', 'HEAD').trim()
    expect((await commitAll(root, { subject: 'nothing', mark: 'Mark: 1' })).commit).toBe(first)
    write(root, { 'c.txt': 'three\n' })
    const commit = await commitAll(root, { subject: 'work', mark: 'Mark: 2' })
    expect(commit.commit).not.toBe(first)
    expect(await commitAll(root, { subject: 'work', mark: 'Mark: 2' })).toEqual(commit)
    expect(runGit(root, 'log', '--format=%s').trim().split('\n')).toEqual(['work', 'first'])
  })
})

describe('a name made from an id', () => {
  it('a name made from an id stays as it is where it can be a file and a branch', () => {
    for (const id of ['login', 'f-1', 'v1.2', 'a_b']) expect(safeName(id)).toBe(id)
    expect(safeName('Login page')).toMatch(/^login-page-[0-9a-f]{8}$/)
    expect(safeName('../../etc')).toMatch(/^etc-[0-9a-f]{8}$/)
    expect(safeName('日本')).toMatch(/^[0-9a-f]{8}$/)
  })

  it('a name made from an id is safe whatever the id, and different ids have different names', () => {
    const hard = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom('..', '.', 'a..b', 'x.lock', 'A', 'a', '-x', '@'),
    )
    fc.assert(
      fc.property(hard, hard, (one, other) => {
        expect(safeName(one)).toMatch(/^[a-z0-9][a-z0-9._-]*$/)
        expect(safeName(one)).not.toMatch(/\.\.|\.lock$|\.$/)
        expect(safeName(one).length).toBeLessThanOrEqual(60)
        if (one !== other) expect(safeName(one)).not.toBe(safeName(other))
      }),
    )
  })
})
