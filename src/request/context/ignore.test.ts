/** Ignore files, by example and against git itself. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Files, repositoryWith, write } from '../../../test/support/repository.ts'
import { foldersFromDisk, foldersFromGit, type ListFolder } from './folders.ts'
import { ignoreRules } from './ignore.ts'

function ignores(patterns: string, path: string, isFolder = false): boolean {
  const rules = ignoreRules()
  rules.add('', patterns)
  return rules.ignores(path, isFolder)
}

describe('an ignore file', () => {
  it.each([
    ['*.log', 'a.log', true],
    ['*.log', 'deep/down/a.log', true],
    ['*.log', 'a.log.txt', false],
    ['/build', 'build', true],
    ['/build', 'src/build', false],
    ['doc/frotz', 'doc/frotz', true],
    ['doc/frotz', 'a/doc/frotz', false],
    ['**/cache', 'a/b/cache', true],
    ['**/cache', 'cache', true],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/y/b', true],
    ['a/**', 'a/b/c', true],
    ['a/**', 'a', false],
    ['file?.txt', 'file1.txt', true],
    ['file[0-9].txt', 'file7.txt', true],
    ['file[!0-9].txt', 'file7.txt', false],
    ['file[[:digit:]]', 'file7', true],
    ['\\#note', '#note', true],
    ['# note', '# note', false],
    ['\\!keep', '!keep', true],
    ['trailing   ', 'trailing', true],
    ['space\\ ', 'space ', true],
    ['open[', 'open[', false],
    ['windows\r\n*.tmp\r', 'windows', true],
    ['\ufefffirst', 'first', true],
  ])('the ignore rule %j decides on %j: %j', (pattern, path, expected) => {
    expect(ignores(pattern, path)).toBe(expected)
  })

  it('an ignore file takes a pattern that ends in a slash for folders only', () => {
    expect(ignores('out/', 'out', true)).toBe(true)
    expect(ignores('out/', 'out', false)).toBe(false)
  })

  it('an ignore file lets the last matching rule decide, so that a negation takes back', () => {
    expect(ignores('*.log\n!keep.log\n', 'a.log')).toBe(true)
    expect(ignores('*.log\n!keep.log\n', 'keep.log')).toBe(false)
    expect(ignores('*.log\n!keep.log\n', 'a.txt')).toBe(false)
  })

  it('an ignore file holds for its own folder, whatever its name, and wins over those above it', () => {
    const rules = ignoreRules()
    rules.add('', '*.log\n')
    rules.add('a [1]!/#b', '!keep.log\n/top\nany\n')
    expect(rules.ignores('keep.log', false)).toBe(true)
    expect(rules.ignores('a [1]!/#b/keep.log', false)).toBe(false)
    expect(rules.ignores('a [1]!/#b/top', false)).toBe(true)
    expect(rules.ignores('a [1]!/#b/c/top', false)).toBe(false)
    expect(rules.ignores('a [1]!/#b/c/any', false)).toBe(true)
    expect(rules.ignores('any', false)).toBe(false)
  })

  it('an ignore file answers at once on a pattern made to be slow', () => {
    const path = Array(100).fill('a'.repeat(200)).join('/')
    expect(ignores(`${'*a'.repeat(60)}*b\n${'**/'.repeat(60)}b\n`, path)).toBe(false)
  })
})

describe('compared with git', () => {
  const name = fc.constantFrom('a', 'b', 'ab', 'a.log', 'b.txt', 'build', '#x', 'x y')
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map(names => names.join('/'))
  const glob = fc.constantFrom(
    'a',
    'b',
    '*',
    '**',
    '*.log',
    'a*',
    '?',
    '[ab]',
    '[!a]*',
    'build',
    '\\#x',
    'x y',
    'x\\ y',
  )
  const pattern = fc
    .record({
      negated: fc.boolean(),
      anchored: fc.boolean(),
      globs: fc.array(glob, { minLength: 1, maxLength: 3 }),
      foldersOnly: fc.boolean(),
    })
    .map(({ negated, anchored, globs, foldersOnly }) =>
      [negated && '!', anchored && '/', globs.join('/'), foldersOnly && '/'].filter(Boolean).join(''),
    )
  const ignoreFile = fc.array(pattern, { minLength: 1, maxLength: 4 }).map(lines => `${lines.join('\n')}\n`)
  const project = fc.record({
    paths: fc.uniqueArray(path, { minLength: 1, maxLength: 12 }),
    top: ignoreFile,
    nested: fc.option(ignoreFile, { nil: undefined }),
    excluded: fc.option(ignoreFile, { nil: undefined }),
  })

  it('a walk lists the same files as git does, whatever the ignore files say', async () => {
    const folder = repositoryWith({})
    await fc.assert(
      fc.asyncProperty(project, async ({ paths, top, nested, excluded }) => {
        for (const name of readdirSync(folder)) if (name !== '.git') rmSync(join(folder, name), { recursive: true })
        write(folder, { ...withoutFilesAsFolders(paths, top, nested), '.git/info/exclude': excluded ?? '' })
        const [byGit, byWalk] = [await foldersFromGit(folder), await foldersFromDisk(folder)]
        const listed = byGit ? await files(byGit) : []
        expect(await files(byWalk!)).toEqual(listed)
      }),
      { numRuns: 60 },
    )
  })

  /** A path that is also the folder of another one cannot be written. */
  function withoutFilesAsFolders(paths: readonly string[], top: string, nested: string | undefined): Files {
    const possible = paths.filter(one => !paths.some(other => other.startsWith(`${one}/`)))
    const texts: Record<string, string> = Object.fromEntries(possible.map(one => [one, '']))
    texts['.gitignore'] = top
    if (nested && possible.some(one => one.startsWith('a/'))) texts['a/.gitignore'] = nested
    return texts
  }

  async function files(list: ListFolder, folder = ''): Promise<string[]> {
    const found: string[] = []
    for (const entry of await list(folder)) {
      const inside = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isFolder) found.push(...(await files(list, inside)))
      else found.push(inside)
    }
    return found.sort()
  }
})
