/** The newest commits, and what asking for them must not set off. */
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { commit, folderWith, repositoryWith, runGit } from '../../../test/support/repository.ts'
import { recentCommits } from './commits.ts'
import { directoryStructure } from './structure.ts'

it('commits have hash and subject, newest first, as many as the caller wants', async () => {
  const folder = repositoryWith({})
  for (const subject of ['first', 'second', 'third']) commit(folder, subject)
  const commits = await recentCommits(folder, 2)
  expect(commits).toEqual([expect.stringMatching(/^[0-9a-f]+ third$/), expect.stringMatching(/^[0-9a-f]+ second$/)])
})

it('commits shorten a subject that is no line any more', async () => {
  const folder = repositoryWith({})
  commit(folder, 'x'.repeat(1_000))
  expect((await recentCommits(folder))![0]).toHaveLength(201)
})

it('commits are empty without a repository, without a commit, without the folder', async () => {
  expect(await recentCommits(folderWith({}))).toBeUndefined()
  expect(await recentCommits(repositoryWith({}))).toBeUndefined()
  expect(await recentCommits('/no/such/folder')).toBeUndefined()
})

it('listing commits runs no program that the repository names in its configuration', async () => {
  const folder = repositoryWith({ 'a.ts': '' })
  commit(folder, 'one')
  const mark = join(folderWith({}), 'was-run')
  const program = join(folder, '.git', 'program')
  writeFileSync(program, `#!/bin/sh\ntouch ${mark}\n`)
  chmodSync(program, 0o755)
  for (const key of ['core.fsmonitor', 'core.pager', 'pager.log', 'gpg.program']) runGit(folder, 'config', key, program)
  runGit(folder, 'config', 'log.showSignature', 'true')
  expect(await recentCommits(folder)).toHaveLength(1)
  expect(await directoryStructure(folder)).toBe('a.ts')
  expect(existsSync(mark)).toBe(false)
})

it('listing commits asks the repository of the folder, also while another one runs a hook', async () => {
  const [folder, other] = [repositoryWith({}), repositoryWith({})]
  commit(folder, 'here')
  commit(other, 'elsewhere')
  process.env.GIT_DIR = join(other, '.git')
  onTestFinished(() => {
    delete process.env.GIT_DIR
  })
  expect(await recentCommits(folder)).toEqual([expect.stringMatching(/ here$/)])
})
