/** Files: an agent may write what it has read, and nothing outside the project, whatever the path looks like. */
import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { InvalidInput, PathRefused } from 'colloquy/errors'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'
import { folderWith } from '../../support/repository.ts'

async function project() {
  const outer = folderWith({
    'shop/src/form.ts': 'form',
    'shop/src/page.ts': 'page',
    'shop/.git/config': 'git',
    'shop/.colloquy/colloquy.db': 'log',
    'secret/key': 'key',
  })
  const root = join(outer, 'shop')
  const { colloquy } = await freshColloquy({ root })
  const { id } = await colloquy.conversations.createConversation({ title: 'Login' })
  const read = (path: string, agent = 'dev') => colloquy.conversations.recordReadFile(id, { agent, path })
  const may = async (path: string, agent = 'dev') => (await colloquy.conversations.mayWrite(id, agent, path)).may
  return { outer, root, colloquy, id, read, may }
}

describe('an agent may write', () => {
  it('an agent may write a file it has read, however the path is spelt, and no other agent may because of it', async () => {
    const { colloquy, root, id, read, may } = await project()
    expect(await colloquy.conversations.mayWrite(id, 'dev', 'src/form.ts')).toEqual({
      may: false,
      path: 'src/form.ts',
      reason: 'dev has not read it; read it first',
    })
    expect(await read('./src/../src//form.ts')).toBe('src/form.ts')
    for (const path of ['src/form.ts', './src/form.ts', 'src/../src/form.ts', join(root, 'src/form.ts')]) {
      expect(await may(path)).toBe(true)
    }
    expect(await may('src/form.ts', 'qa')).toBe(false)
    expect(await may('src/page.ts')).toBe(false)
    expect(await colloquy.conversations.mayWrite(id, 'dev', 'src/form.ts')).toMatchObject({
      absolutePath: join(realpathSync(root), 'src/form.ts'),
    })
  })

  it('an agent may write a new file, in a new folder too, but not a folder', async () => {
    const { colloquy, id, may } = await project()
    expect(await colloquy.conversations.mayWrite(id, 'dev', 'src/new/deep/file.ts')).toMatchObject({
      may: true,
      path: 'src/new/deep/file.ts',
      reason: 'it is not there yet',
    })
    expect(await may('src')).toBe(false)
    expect(await may('src/form.ts/inside')).toBe(false)
  })

  it('an agent may write nothing outside the project, by no way of spelling it', async () => {
    const { outer, root, read, may } = await project()
    symlinkSync(join(outer, 'secret'), join(root, 'src/link'))
    symlinkSync(join(outer, 'secret/key'), join(root, 'key.ts'))
    symlinkSync(join(outer, 'secret/not-there-yet'), join(root, 'dangling.ts'))
    symlinkSync('loop', join(root, 'loop'))
    mkdirSync(join(outer, 'shop-of-others'))
    writeFileSync(join(outer, 'shop-of-others/file'), '')
    for (const path of [
      '../secret/key',
      'src/../../secret/key',
      join(outer, 'secret/key'),
      '/etc/passwd',
      '../shop-of-others/file',
      'src/link/key',
      'src/link/new-file',
      'src/link/../../secret/key',
      'key.ts',
      'dangling.ts',
      'loop',
      'loop/file',
      '..',
      '.',
      '',
      'a\0b',
    ]) {
      expect([path, await may(path)]).toEqual([path, false])
      await expect(read(path), path).rejects.toThrow(PathRefused)
    }
  })

  it("an agent may write neither git's own files nor the store", async () => {
    const { read, may } = await project()
    for (const path of ['.git/config', '.git/hooks/new', '.colloquy/colloquy.db', '.GIT/config', 'sub/.git/hooks/x']) {
      expect([path, await may(path)]).toEqual([path, false])
    }
    await expect(read('.git/config')).rejects.toThrow(PathRefused)
  })

  it('an agent may write by a link inside the project what the link leads to', async () => {
    const { root, read, may } = await project()
    symlinkSync('form.ts', join(root, 'src/alias.ts'))
    expect(await read('src/alias.ts')).toBe('src/form.ts')
    expect([await may('src/form.ts'), await may('src/alias.ts')]).toEqual([true, true])
    rmSync(join(root, 'src/alias.ts'))
    symlinkSync('page.ts', join(root, 'src/alias.ts'))
    expect(await may('src/alias.ts')).toBe(false)
  })

  it('an agent may write nothing while the conversation is read-only', async () => {
    const { colloquy, id, read, may } = await project()
    await read('src/form.ts')
    await colloquy.conversations.complete(id)
    expect(await may('src/form.ts')).toBe(false)
  })
})

describe('what was read', () => {
  it('a read file is recorded once, and only if it exists', async () => {
    const { colloquy, id, read } = await project()
    await read('src/form.ts')
    await read('src/form.ts')
    expect((await colloquy.conversations.getConversation(id)).version).toBe(2)
    await expect(read('src/none.ts')).rejects.toThrow(InvalidInput)
    expect(await colloquy.conversations.getReadFiles(id)).toEqual({ dev: ['src/form.ts'] })
  })

  it('read files are forgotten when reflection goes back to chat, and by no other transition', async () => {
    const { colloquy, id, read, may } = await project()
    await read('src/form.ts')
    for (const to of ['plan', 'execute', 'verification', 'chores', 'reflection']) {
      await colloquy.conversations.transitionPhase(id, { to })
      expect(await may('src/form.ts')).toBe(true)
    }
    await colloquy.conversations.transitionPhase(id, { to: 'chat' })
    expect(await may('src/form.ts')).toBe(false)
    expect(await colloquy.conversations.getReadFiles(id)).toEqual({})
    await read('src/form.ts')
    expect(await may('src/form.ts')).toBe(true)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('read files are remembered for the newest 200; an older one has to be read again', async () => {
    const { colloquy, root, id, read, may } = await project()
    for (let number = 0; number <= 200; number++) {
      writeFileSync(join(root, `file-${number}`), '')
      await read(`file-${number}`)
    }
    expect([await may('file-0'), await may('file-1')]).toEqual([false, true])
    expect(Object.values(await colloquy.conversations.getReadFiles(id)).flat()).toHaveLength(200)
  })
})
