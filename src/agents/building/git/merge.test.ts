/** Merging a branch into its base, without a person's checkout, from any point it was cut off at. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commit, repositoryWith, runGit, write } from '../../../../test/support/repository.ts'
import { commitAll, isAncestor, isDirty } from './git.ts'
import { commitResolution, discardMerge, land, type MergePlace, makeMerge } from './merge.ts'
import { openWorktree } from './worktree.ts'

/** main, and a feature with one more commit. The person's checkout is elsewhere unless it is on main. */
async function feature({ isOnBase = false } = {}) {
  const root = repositoryWith({ 'a.txt': 'one\n' })
  runGit(root, 'checkout', '--quiet', '-b', 'main')
  commit(root, 'first')
  const { path, repository } = await openWorktree({ root, featureId: 'f' })
  write(path, { 'a.txt': 'two\n', 'b.txt': 'new\n' })
  await commitAll(path, { subject: 'work', mark: 'Mark: 1' })
  if (!isOnBase) runGit(root, 'checkout', '--quiet', '-b', 'elsewhere')
  const place: MergePlace = {
    repository,
    path: join(repository, '.colloquy/worktrees/f.merge'),
    branch: 'colloquy/f',
    base: 'main',
    subject: 'Merge the work',
  }
  const tip = runGit(root, 'rev-parse', 'colloquy/f').trim()
  const main = () => runGit(root, 'rev-parse', 'main').trim()
  return { root, place, tip, main, worktree: path }
}

/** A commit on main that does not go through the checkout. */
function commitOnMain(root: string, files: Record<string, string>) {
  runGit(root, 'worktree', 'add', '--quiet', join(root, 'other'), 'main')
  write(join(root, 'other'), files)
  commit(join(root, 'other'), 'meanwhile')
  runGit(root, 'worktree', 'remove', join(root, 'other'))
}

const movesCheckouts = true

async function mergeResult(place: MergePlace) {
  const merge = await makeMerge(place)
  if (merge.state !== 'made') throw new Error(merge.state)
  return merge
}

describe('a merge', () => {
  it('a merge is made next to the base, which moves on in one step', async () => {
    const { root, place, tip, main } = await feature()
    const before = main()
    const merge = await mergeResult(place)
    expect(main()).toBe(before)
    expect(await land(place, merge, { movesCheckouts })).toEqual({ landed: true })
    expect(main()).toBe(merge.commit)
    expect(runGit(root, 'log', '-1', '--format=%s %P', 'main').trim()).toBe(`Merge the work ${before} ${tip}`)
    expect(await makeMerge(place)).toEqual({ state: 'landed', commit: merge.commit })
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\n')
    expect(await isDirty(root)).toBe(false)
  })

  it('a merge that was made is found again, not made twice', async () => {
    const { place } = await feature()
    const merge = await mergeResult(place)
    expect(await makeMerge(place)).toEqual(merge)
  })

  it('a merge goes on whatever was left in its worktree', async () => {
    const { place } = await feature()
    await mergeResult(place)
    writeFileSync(join(place.path, 'a.txt'), 'half written')
    writeFileSync(join(place.path, 'rubbish.txt'), '')
    const secondMerge = await mergeResult(place)
    expect(existsSync(join(place.path, 'rubbish.txt'))).toBe(false)
    expect(await land(place, secondMerge, { movesCheckouts })).toEqual({ landed: true })
  })

  it('a merge is made again when the base moved on meanwhile, and nothing of that is lost', async () => {
    const { root, place, tip } = await feature()
    const merge = await mergeResult(place)
    commitOnMain(root, { 'c.txt': 'meanwhile\n' })
    expect(await land(place, merge, { movesCheckouts })).toEqual({ landed: false, why: 'moved' })
    const secondMerge = await mergeResult(place)
    expect(await land(place, secondMerge, { movesCheckouts })).toEqual({ landed: true })
    expect(await isAncestor(root, tip, 'main')).toBe(true)
    expect(runGit(root, 'show', 'main:c.txt')).toBe('meanwhile\n')
  })

  it('a merge with conflicts waits for a decision in its worktree, also after a crash, and is removed without a trace', async () => {
    const { root, place, main } = await feature()
    commitOnMain(root, { 'a.txt': 'three\n' })
    const before = main()
    expect(await makeMerge(place)).toMatchObject({ state: 'conflicted', files: ['a.txt'] })
    expect(await makeMerge(place)).toMatchObject({ state: 'conflicted', files: ['a.txt'] })
    expect(await commitResolution(place.path, ['a.txt'])).toEqual(['a.txt'])
    await discardMerge(place)
    expect(main()).toBe(before)
    expect(existsSync(place.path)).toBe(false)
    expect(await makeMerge(place)).toMatchObject({ state: 'conflicted' })
    writeFileSync(join(place.path, 'a.txt'), 'two and three\n')
    expect(await commitResolution(place.path, ['a.txt'])).toEqual([])
    expect(await land(place, await mergeResult(place), { movesCheckouts })).toEqual({ landed: true })
    expect(runGit(root, 'show', 'main:a.txt')).toBe('two and three\n')
  })
})

describe("a person's checkout of the base", () => {
  it("a person's checkout of the base follows a merge when it is clean", async () => {
    const { root, place } = await feature({ isOnBase: true })
    writeFileSync(join(root, 'untracked.txt'), 'stays')
    expect(await land(place, await mergeResult(place), { movesCheckouts })).toEqual({ landed: true })
    expect(readFileSync(join(root, 'b.txt'), 'utf8')).toBe('new\n')
    expect(runGit(root, 'status', '--porcelain')).toBe('?? untracked.txt\n')
  })

  it.each([
    ['changes that are not committed', { 'a.txt': 'mine\n' }, true],
    ['a new file that the work has, too', { 'b.txt': 'mine\n' }, true],
    ['nothing to lose, but is not to be moved', {}, false],
  ])(
    "a person's checkout of the base with %s stays as it is, and the merge says what to do",
    async (_, files, movesCheckouts) => {
      const { root, place, main } = await feature({ isOnBase: true })
      write(root, files)
      const [before, status] = [main(), runGit(root, 'status', '--porcelain')]
      const merge = await mergeResult(place)
      const landed = await land(place, merge, { movesCheckouts })
      expect(landed).toMatchObject({ landed: false, why: 'checkout' })
      expect(JSON.stringify(landed)).toContain('merge --ff-only')
      expect([main(), runGit(root, 'status', '--porcelain')]).toEqual([before, status])
      if (Object.keys(files).length === 0) {
        runGit(root, 'merge', '--quiet', '--ff-only', merge.commit)
        expect(await makeMerge(place)).toMatchObject({ state: 'landed' })
      }
    },
  )
})
