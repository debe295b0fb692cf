/** The directory tree as a model reads it. */
import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commit, type Files, folderWith, repositoryWith, runGit, write } from '../../../test/support/repository.ts'
import { directoryStructure } from './structure.ts'

const project: Files = {
  'README.md': '',
  'src/main.ts': '',
  'src/views/list.ts': '',
  'src/views/.gitignore': '*.snap\n!kept.snap\n',
  'src/views/list.snap': '',
  'src/views/kept.snap': '',
  'dist/main.js': '',
  'node_modules/left-pad/index.js': '',
  '.colloquy/colloquy.db': '',
  '.gitignore': 'dist/\n',
}

const tree = `
src/
  views/
    .gitignore
    kept.snap
    list.ts
  main.ts
.gitignore
README.md`.trim()

describe.each([
  ['in a repository', repositoryWith],
  ['outside one', folderWith],
])('%s', (_, folderOf) => {
  it('the structure shows folders first, sorted, without what ignore files at any level leave out', async () => {
    expect(await directoryStructure(folderOf(project))).toBe(tree)
  })

  it('the structure never shows .git, node_modules and .colloquy, ignored or not', async () => {
    const folder = folderOf({ 'a.ts': '', 'packages/x/node_modules/y/index.js': '', '.colloquy/x': '' })
    expect(await directoryStructure(folder)).not.toMatch(/node_modules|colloquy|\.git/)
  })

  it('the structure counts what the limits leave out, where they leave it out', async () => {
    const folder = folderOf({ 'a/b/c/deep.ts': '', 'a/1': '', 'a/2': '', 'a/3': '', z: '' })
    expect(await directoryStructure(folder, { depth: 2 })).toBe('a/\n  b/\n    … 1 more\n  1\n  2\n  3\nz')
    expect(await directoryStructure(folder, { perFolder: 2 })).toBe(
      'a/\n  b/\n    c/\n      deep.ts\n  1\n  … 2 more\nz',
    )
  })

  it('the structure spends its entries level by level, so that the top is seen whole', async () => {
    const folder = folderOf({ 'a/1': '', 'a/2': '', 'a/3': '', 'b/1': '', 'c/1': '' })
    expect(await directoryStructure(folder, { entries: 5 })).toBe(
      'a/\n  1\n  2\n  … 1 more\nb/\n  … 1 more\nc/\n  … 1 more',
    )
  })

  it('the structure names a link and does not follow it', async () => {
    const folder = folderOf({ 'src/main.ts': '' })
    symlinkSync(folder, join(folder, 'src', 'loop'))
    expect(await directoryStructure(folder)).toBe('src/\n  loop\n  main.ts')
  })

  it('the structure keeps a name with a line break on its line', async () => {
    expect(await directoryStructure(folderOf({ 'a\nb': '' }))).toBe('a\ufffdb')
  })
})

it('the structure has the same text for a walk and for git', async () => {
  expect(await directoryStructure(folderWith(project))).toBe(await directoryStructure(repositoryWith(project)))
})

it('the structure shows what is on disk, tracked or not, and not what was deleted', async () => {
  const folder = repositoryWith({ 'kept.ts': '', 'gone.ts': '' })
  commit(folder, 'both')
  rmSync(join(folder, 'gone.ts'))
  write(folder, { 'new.ts': '' })
  expect(await directoryStructure(folder)).toBe('kept.ts\nnew.ts')
})

it('the structure starts at the given folder, also inside a repository', async () => {
  const folder = repositoryWith({ 'packages/one/index.ts': '', 'packages/two/index.ts': '' })
  expect(await directoryStructure(join(folder, 'packages', 'one'))).toBe('index.ts')
})

it('the structure covers a folder that the repository around it ignores', async () => {
  const folder = repositoryWith({ '.gitignore': 'scratch/\n', 'scratch/notes.md': '' })
  expect(await directoryStructure(join(folder, 'scratch'))).toBe('notes.md')
})

it('the structure shows a repository inside the repository as a folder', async () => {
  const folder = repositoryWith({ 'main.ts': '' })
  write(folder, { 'inner/x.ts': '' })
  runGit(join(folder, 'inner'), 'init', '--quiet')
  expect(await directoryStructure(folder)).toBe('inner/\nmain.ts')
})

it('the structure of a missing folder or of a file is empty', async () => {
  const folder = folderWith({ file: '' })
  expect(await directoryStructure(join(folder, 'missing'))).toBeUndefined()
  expect(await directoryStructure(join(folder, 'file'))).toBeUndefined()
  expect(await directoryStructure('not a path\0')).toBeUndefined()
})
