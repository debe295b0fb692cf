/** A context is gathered from what is there, and again only when that changed. */
import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commit, folderWith, repositoryWith, runGit, write } from '../../../test/support/repository.ts'
import { SessionContext } from '../../log/events/context.ts'
import { contextFingerprint } from './fingerprint.ts'
import { gatherContext } from './gather.ts'
import { contextGatherer } from './gatherer.ts'

const feature = { id: 'login', name: 'Login', goal: 'People can log in' }
const task = { id: 't1', title: 'The form', state: 'in_dev' }

it('gathering covers the project, the feature and the task', async () => {
  const root = repositoryWith({ 'CLAUDE.md': 'Use tabs.', 'src/main.ts': '' })
  commit(root, 'a start')
  const context = await gatherContext({ root, feature, task, dagSummary: '1 task' })
  expect(SessionContext.parse(context)).toEqual(context)
  expect(context).toEqual({
    project: {
      root,
      structure: 'src/\n  main.ts\nCLAUDE.md',
      instructionFiles: [{ name: 'CLAUDE.md', text: 'Use tabs.' }],
      recentCommits: [expect.stringMatching(/ a start$/)],
    },
    feature,
    task,
    dagSummary: '1 task',
  })
})

it('gathering leaves out what is not there', async () => {
  expect(await gatherContext({})).toEqual({ project: {} })
  expect(await gatherContext({ root: '/no/such/folder' })).toEqual({ project: { root: '/no/such/folder' } })
})

describe('the fingerprint', () => {
  const changes: [string, (root: string) => void][] = [
    ['an instruction file is written', root => write(root, { 'CLAUDE.md': 'Use spaces now.' })],
    ['an instruction file appears', root => write(root, { 'AGENTS.md': '' })],
    ['an ignore file changes', root => write(root, { '.gitignore': '*.log\n' })],
    ['an ignore file further down changes', root => write(root, { 'src/.gitignore': '*.log\n' })],
    ['the excluded files change', root => write(root, { '.git/info/exclude': 'everything\n' })],
    ['a commit is made', root => commit(root, 'another')],
    ['another branch is checked out', root => runGit(root, 'checkout', '--quiet', '--detach', 'HEAD~1')],
    [
      'a file is staged',
      root => {
        write(root, { 'src/deep/er/new.ts': '' })
        runGit(root, 'add', '.')
      },
    ],
    ['a file appears in the root', root => write(root, { 'new.ts': '' })],
    ['a file appears in a folder of the root', root => write(root, { 'src/new.ts': '' })],
  ]

  it.each(changes)('the fingerprint of a context differs when %s', async (_, change) => {
    const root = repositoryWith({ 'CLAUDE.md': 'Use tabs.', 'src/deep/er/x.ts': '' })
    commit(root, 'one')
    commit(root, 'two')
    const before = await contextFingerprint({ root })
    change(root)
    expect(await contextFingerprint({ root })).not.toBe(before)
  })

  it('the fingerprint of a context sees commits in a linked worktree, with branches packed away', async () => {
    const root = repositoryWith({ 'a.ts': '' })
    commit(root, 'one')
    runGit(root, 'pack-refs', '--all')
    const worktree = join(folderWith({}), 'linked')
    runGit(root, 'worktree', 'add', '--quiet', '-b', 'side', worktree)
    const before = await contextFingerprint({ root: worktree })
    runGit(worktree, 'commit', '--quiet', '--allow-empty', '-m', 'two')
    expect(await contextFingerprint({ root: worktree })).not.toBe(before)
  })

  it('the fingerprint of a context sees a commit from a folder inside the repository', async () => {
    const root = repositoryWith({ 'packages/one/a.ts': '' })
    const before = await contextFingerprint({ root: join(root, 'packages', 'one') })
    commit(root, 'one')
    expect(await contextFingerprint({ root: join(root, 'packages', 'one') })).not.toBe(before)
  })

  it('the fingerprint of a context differs with the feature, the task, the graph and the limits', async () => {
    const inputs = [
      {},
      { feature },
      { task },
      { task: { ...task, state: 'in_qa' } },
      { dagSummary: '1 task' },
      { limits: { commits: 3 } },
    ]
    const digests = await Promise.all(inputs.map(one => contextFingerprint(one)))
    expect(new Set(digests).size).toBe(inputs.length)
  })

  it('the fingerprint of a context is the same for the same facts in another order, with or without a repository', async () => {
    for (const root of [folderWith({ a: '' }), repositoryWith({ a: '' })]) {
      const one = await contextFingerprint({ root, feature, task })
      const { state, title, id } = task
      expect(await contextFingerprint({ task: { state, title, id }, feature, root })).toBe(one)
    }
  })
})

describe('the gatherer', () => {
  it('the gatherer returns the recorded context while its inputs stay, also in a fresh process', async () => {
    const root = repositoryWith({ 'a.ts': '' })
    const first = await contextGatherer().gather({ root, feature })
    const again = await contextGatherer().gather({ root, feature }, first)
    expect(first.changed).toBe(true)
    expect(again).toEqual({ ...first, changed: false })
    expect(again.context).toBe(first.context)
  })

  it('the gatherer gathers again when an input changed', async () => {
    const root = repositoryWith({ 'CLAUDE.md': 'Use tabs.' })
    const gatherer = contextGatherer()
    const first = await gatherer.gather({ root })
    write(root, { 'CLAUDE.md': 'Use spaces, please.' })
    const second = await gatherer.gather({ root }, first)
    expect(second.changed).toBe(true)
    expect(second.context.project.instructionFiles).toEqual([{ name: 'CLAUDE.md', text: 'Use spaces, please.' }])
  })

  it('the gatherer sees no change in a file that was only touched', async () => {
    const root = repositoryWith({ 'CLAUDE.md': 'Use tabs.' })
    const gatherer = contextGatherer()
    const first = await gatherer.gather({ root })
    utimesSync(join(root, 'CLAUDE.md'), 1, 1)
    const second = await gatherer.gather({ root }, first)
    expect(second.fingerprint).not.toBe(first.fingerprint)
    expect(second.changed).toBe(false)
  })

  it('the gatherer shares one context between sessions on the same work', async () => {
    const root = repositoryWith({ 'a.ts': '' })
    const gatherer = contextGatherer()
    const [one, other] = [await gatherer.gather({ root, task }), await gatherer.gather({ root, task })]
    expect(other.context).toBe(one.context)
  })
})
