/** Places that are no good store: each is refused with a code and what to do, and nothing there is changed. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import { type Colloquy, openColloquy } from 'colloquy'
import { salvage } from 'colloquy/sqlite'
import { copyStore, storeStatus } from 'colloquy/stores'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runCli } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { runChild, startChild } from '../../torture/child.ts'
import { moveAllIntoFile } from '../../torture/damage.ts'

const project = 'shop'
const thread = { type: 'thread', agentType: 'pm', threadId: 'login', expiresInMs: null } as const
const settings = { project, tokens: 'fast', sweepEveryMs: null } as const

/** A closed store with three messages, all of it in the one file. */
async function givenStore(folder = temporaryFolder()): Promise<{ file: string; sessionId: string }> {
  const file = join(folder, 'colloquy.db')
  const colloquy = await openColloquy({ ...settings, store: `sqlite:${file}` })
  const session = await colloquy.sessions.getOrCreateSession(thread)
  for (const content of ['one', 'two', 'three']) {
    await colloquy.sessions.addMessage(session.id, { role: 'user', content })
  }
  await colloquy.close()
  moveAllIntoFile(file)
  return { file, sessionId: session.id }
}

async function contents(colloquy: Colloquy, sessionId: string): Promise<string[]> {
  return (await colloquy.sessions.getAllMessages(sessionId)).map(one => one.content)
}

describe('a file that is no store', () => {
  it.each([
    ['a text', Buffer.from('Dear diary, today I met a conversation engine.\n'.repeat(200))],
    ['a few bytes', Buffer.from('x')],
    ['a page of noise', Buffer.alloc(8192, 0xa5)],
  ])('a file that is no store, %s, is refused and left as it is', async (_, bytes) => {
    const file = join(temporaryFolder(), 'notes.txt')
    writeFileSync(file, bytes)
    await expect(openColloquy({ ...settings, store: `sqlite:${file}` })).rejects.toMatchObject({
      code: 'store/unusable',
      message: expect.stringMatching(/not a Colloquy store.*choose another path/),
    })
    expect(readFileSync(file)).toEqual(bytes)
  })

  it.each([['delete'], ['wal']])(
    "another program's database in journal mode %s is refused and left as it is",
    async mode => {
      const file = join(temporaryFolder(), 'theirs.db')
      const theirs = new DatabaseSync(file)
      theirs.exec(
        `pragma journal_mode = ${mode}; create table recipes (name text); insert into recipes values ('soup')`,
      )
      theirs.close()
      if (mode === 'wal') moveAllIntoFile(file)
      const before = readFileSync(file)
      await expect(openColloquy({ ...settings, store: `sqlite:${file}` })).rejects.toMatchObject({
        code: 'store/unusable',
        message: expect.stringMatching(/not a Colloquy store.*Nothing was changed/),
      })
      expect(readFileSync(file)).toEqual(before)
    },
  )

  it.each([false, true])('a folder is refused (readOnly: %s)', async readOnly => {
    const store = `sqlite:${temporaryFolder()}`
    await expect(openColloquy({ ...settings, store, readOnly })).rejects.toMatchObject({
      code: 'store/unusable',
      message: expect.stringContaining('is a folder'),
    })
  })

  it.runIf(process.platform !== 'win32')('a pipe is refused, and not waited for', async () => {
    const pipe = join(temporaryFolder(), 'pipe')
    execFileSync('mkfifo', [pipe])
    await expect(openColloquy({ ...settings, store: `sqlite:${pipe}` })).rejects.toMatchObject({
      code: 'store/unusable',
      message: expect.stringContaining('is no regular file'),
    })
  })

  it('a place below a file is refused', async () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, 'a file')
    await expect(openColloquy({ ...settings, store: `sqlite:${file}/colloquy.db` })).rejects.toMatchObject({
      code: 'store/unusable',
    })
  })

  it('a missing store is refused when opened for reading only, and none is created', async () => {
    const file = join(temporaryFolder(), 'nothing.db')
    await expect(openColloquy({ ...settings, store: `sqlite:${file}`, readOnly: true })).rejects.toMatchObject({
      code: 'store/unusable',
      message: expect.stringContaining('no store'),
    })
    expect(existsSync(file)).toBe(false)
  })
})

/** On Windows a file that is open stays where it is. */
describe.skipIf(process.platform === 'win32')('a file that, while it is open,', () => {
  it.each<[string, (file: string, other: string) => void]>([
    ['is removed', file => rmSync(file)],
    ['is removed with its folder', file => rmSync(dirname(file), { recursive: true })],
    ['is replaced by another', (file, other) => renameSync(other, file)],
  ])('[P1] a file that, while it is open, %s takes nothing any more, and gives what it held', async (_how, harm) => {
    const { file, sessionId: session } = await givenStore()
    const other = await givenStore()
    const colloquy = await openColloquy({ ...settings, store: `sqlite:${file}` })
    onTestFinished(() => colloquy.close())
    const held = await contents(colloquy, session)
    const say = () => colloquy.sessions.addMessage(session, { role: 'user', content: 'more' })
    await say()
    harm(file, other.file)
    await expect(say()).rejects.toMatchObject({
      code: 'store/unusable',
      message: expect.stringMatching(/removed, moved or replaced.*Nothing was written/),
    })
    await expect(colloquy.repair()).rejects.toMatchObject({ code: 'store/unusable' })
    expect(await contents(colloquy, session)).toEqual([...held, 'more'])
  })
})

it('a store of a newer Colloquy is refused with the advice to update, and left as it is', async () => {
  const { file } = await givenStore()
  const newer = new DatabaseSync(file)
  newer.exec('pragma user_version = 99')
  newer.close()
  moveAllIntoFile(file)
  const before = readFileSync(file)
  for (const readOnly of [false, true]) {
    await expect(openColloquy({ ...settings, store: `sqlite:${file}`, readOnly })).rejects.toMatchObject({
      code: 'store/unusable',
      message: expect.stringMatching(/schema 99.*Nothing was changed. Update Colloquy/),
    })
  }
  expect(readFileSync(file)).toEqual(before)
})

describe('a store opened for reading only', () => {
  it('a store opened for reading only is read, searched and verified, refuses writes, and stays as it is', async () => {
    const { file, sessionId } = await givenStore()
    const before = readFileSync(file)
    const colloquy = await openColloquy({ ...settings, store: `sqlite:${file}`, readOnly: true })
    expect(await contents(colloquy, sessionId)).toEqual(['one', 'two', 'three'])
    expect((await colloquy.conversations.search({ text: 'two' })).messages).toHaveLength(1)
    expect(await colloquy.verify()).toMatchObject({ clean: true })
    await expect(colloquy.sessions.addMessage(sessionId, { role: 'user', content: 'four' })).rejects.toMatchObject({
      code: 'store/read-only',
    })
    await colloquy.close()
    expect(readFileSync(file)).toEqual(before)
  })
})

describe('a folder that cannot be made', () => {
  const below = (place: string) => join(place, 'deeper', 'colloquy.db')

  it('a store folder is refused where a file stands in its way', async () => {
    const { file } = await givenStore()
    await expect(openColloquy({ ...settings, store: `sqlite:${below(file)}` })).rejects.toMatchObject({
      code: 'store/unusable',
      message: expect.stringContaining('folder'),
    })
  })

  it.runIf(process.platform === 'linux')('a store folder is refused where the system allows none', async () => {
    await expect(openColloquy({ ...settings, store: `sqlite:${below('/proc')}` })).rejects.toMatchObject({
      code: 'store/unusable',
      message: expect.stringContaining('folder'),
    })
  })
})

/** Permissions do not bind root, so a child without rights opens the store. */
const stranger = process.getuid?.() === 0 ? 65534 : undefined
const noStranger = process.platform === 'win32' ? 'no such permissions on Windows' : undefined

interface Said {
  step: string
  outcome: string
  code?: string
  words?: string
}

async function visit(
  file: string,
  { readOnly = false, uid = stranger }: { readOnly?: boolean; uid?: number | undefined } = {},
): Promise<Record<string, Said>> {
  const said: Record<string, Said> = {}
  const ended = await runChild({
    program: 'visitor.mjs',
    args: [JSON.stringify({ store: `sqlite:${file}`, project, readOnly })],
    ...(uid !== undefined && { uid }),
    onLine(line) {
      const one = JSON.parse(line) as Said
      said[one.step] = one
    },
  })
  expect(ended).toMatchObject({ code: 0, hung: false, words: '' })
  return said
}

describe.skipIf(noStranger !== undefined)(`without the right to write${noStranger ? ` (${noStranger})` : ''}`, () => {
  it('a file without the right to write can be read, and refuses appends', async () => {
    const folder = temporaryFolder()
    const { file } = await givenStore(folder)
    for (const name of ['', '-wal', '-shm', '-search'])
      rmSync(`${file}${name === '' ? '-none' : name}`, { force: true })
    chmodSync(file, 0o444)
    chmodSync(folder, 0o777)
    const before = readFileSync(file)
    const said = await visit(file)
    expect(said).toMatchObject({
      open: { outcome: 'done' },
      count: { outcome: '3' },
      append: { outcome: 'refused', code: 'store/read-only', words: expect.stringMatching(/permissions.*-wal/) },
      found: { outcome: '1' },
      verify: { outcome: 'done' },
      close: { outcome: 'done' },
    })
    expect(readFileSync(file)).toEqual(before)
  })

  it.each([false, true])(
    'a folder without the right to write gives its store for reading or a typed refusal (readOnly: %s)',
    async readOnly => {
      const folder = temporaryFolder()
      const { file } = await givenStore(folder)
      for (const name of ['-wal', '-shm', '-search', '-search-wal', '-search-shm']) rmSync(file + name, { force: true })
      chmodSync(file, 0o644)
      chmodSync(folder, 0o555)
      const before = readFileSync(file)
      const said = await visit(file, { readOnly })
      const refusals = Object.values(said).filter(one => one.outcome === 'refused')
      expect(refusals.length).toBeGreaterThan(0)
      if (readOnly) expect(said).toMatchObject({ count: { outcome: '3' }, found: { outcome: '1' } })
      for (const { code, words } of refusals) {
        expect(code).toMatch(/^store\/(read-only|unusable)$/)
        expect(words).toMatch(/permission|folder|reading only/)
      }
      expect(readFileSync(file)).toEqual(before)
    },
  )

  it('a folder without the right to write gives its store to every command that only reads', async () => {
    const folder = temporaryFolder()
    const { file } = await givenStore(folder)
    for (const name of ['-wal', '-shm', '-search', '-search-wal', '-search-shm']) rmSync(file + name, { force: true })
    chmodSync(file, 0o644)
    chmodSync(folder, 0o555)
    const options = ['--store', `sqlite:${file}`, '--project', project]
    for (const command of [['list'], ['list', '--sessions'], ['stats'], ['verify'], ['search', 'two']]) {
      const { exitCode, stdout, stderr } = await runCli([...command, ...options], { uid: stranger, cwd: folder })
      expect({ command, exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('error') })
      expect(stdout).not.toBe('')
    }
  })

  it('a folder without the right to read is not reported as empty', async () => {
    const folder = temporaryFolder()
    const { file } = await givenStore(folder)
    chmodSync(folder, 0o600)
    const options = ['--store', `sqlite:${file}`, '--project', project, '--json']
    const [listed, looked] = await Promise.all(
      ['list', 'doctor'].map(command => runCli([command, ...options], { uid: stranger, cwd: '/' })),
    )
    expect(listed).toMatchObject({ exitCode: 1 })
    expect(listed!.error()).toMatchObject({ code: 'store/read-only', message: expect.stringContaining('permissions') })
    expect(looked).toMatchObject({ exitCode: 1 })
    expect(looked!.json().findings).toContainEqual(expect.objectContaining({ what: 'store', state: 'failed' }))
  })

  it('a file without the right to read is reported as one', async () => {
    const folder = temporaryFolder()
    const { file } = await givenStore(folder)
    chmodSync(folder, 0o755)
    chmodSync(file, 0o000)
    const options = ['--store', `sqlite:${file}`, '--project', project]
    const { exitCode, stderr } = await runCli(['list', ...options], { uid: stranger, cwd: '/' })
    expect(exitCode).toBe(1)
    expect(stderr).toContain('both may be read')
  })

  it('a folder without the right to write takes no new store, and says so', async () => {
    const folder = temporaryFolder()
    chmodSync(folder, 0o555)
    for (const file of [join(folder, 'colloquy.db'), join(folder, 'below', 'colloquy.db')]) {
      const said = await visit(file)
      expect(said.open).toMatchObject({ outcome: 'refused', words: expect.stringMatching(/folder|permission/) })
      expect(said.open?.code).toMatch(/^store\/(read-only|unusable)$/)
    }
  })
})

/** A disk of a few megabytes, or undefined where this process may not mount one. */
function smallDisk(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder]).status === 0
  if (!mounted) rmSync(folder, { recursive: true, force: true })
  return mounted ? folder : undefined
}

function removeDisk(folder: string): void {
  spawnSync('umount', ['-l', folder])
  rmSync(folder, { recursive: true, force: true })
}

const probe = smallDisk()
if (probe) removeDisk(probe)
const noDisk = probe ? undefined : 'no small disk can be mounted here; the shim stands in for it in durability-faults'
if (noDisk) console.log(`Left out: ${noDisk}.`)

describe.skipIf(noDisk !== undefined)(`a full disk${noDisk ? ` (left out: ${noDisk})` : ''}`, () => {
  it('[P1] a full disk refuses appends with store/full, keeps what it acknowledged, and goes on when there is room', async () => {
    const folder = smallDisk()!
    onTestFinished(() => removeDisk(folder))
    const store = `sqlite:${join(folder, 'colloquy.db')}`
    const colloquy = await openColloquy({ ...settings, store })
    const session = await colloquy.sessions.getOrCreateSession(thread)
    const ballast = join(folder, 'ballast')
    const { bavail, bsize } = statfsSync(folder)
    writeFileSync(ballast, Buffer.alloc(bavail * bsize - 400_000))
    const acknowledged: string[] = []
    const append = async (content: string) => {
      await colloquy.sessions.addMessage(session.id, { role: 'user', content })
      acknowledged.push(content)
    }
    const fill = async () => {
      for (let number = 0; number < 1000; number++) await append(`${number} ${'x'.repeat(8_000)}`)
    }
    await expect(fill()).rejects.toMatchObject({
      code: 'store/full',
      message: expect.stringMatching(/full.*Nothing was written; free some room/),
    })
    expect(acknowledged.length).toBeGreaterThan(0)
    expect(await contents(colloquy, session.id)).toEqual(acknowledged)
    rmSync(ballast)
    await append('room again')
    await colloquy.close()
    const again = await openColloquy({ ...settings, store })
    expect(await contents(again, session.id)).toEqual(acknowledged)
    expect(await again.verify()).toMatchObject({ clean: true })
    await again.close()
  })

  async function givenLargeStore() {
    const { file } = await givenStore()
    const colloquy = await openColloquy({ ...settings, store: `sqlite:${file}` })
    const { id } = await colloquy.conversations.createConversation({ title: 'large' })
    for (let number = 0; number < 10; number++)
      await colloquy.conversations.addEvent(id, { role: 'user', content: `${number} ${'x'.repeat(500_000)}` })
    await colloquy.close()
    return { file, id }
  }

  it('a full disk takes no export and nothing salvaged: the file is named, and none is left behind', async () => {
    const { file, id } = await givenLargeStore()
    const folder = smallDisk()!
    onTestFinished(() => removeDisk(folder))
    const output = join(folder, 'large.jsonl')
    const options = ['--store', `sqlite:${file}`, '--project', project, '--json']
    const exported = await runCli(['export', id, '--output', output, ...options])
    expect(exported.exitCode).toBe(1)
    expect(exported.error()).toMatchObject({ code: 'store/full', message: expect.stringContaining(output) })
    const rescued = join(folder, 'rescued.db')
    await expect(salvage(file, rescued)).rejects.toMatchObject({
      code: 'store/full',
      message: expect.stringContaining(rescued),
    })
    expect(readdirSync(folder)).toEqual([])
  })

  it('a full disk stops a copy: the error names the file that is on it, and each conversation is there whole or not', async () => {
    const { file } = await givenLargeStore()
    const folder = smallDisk()!
    onTestFinished(() => removeDisk(folder))
    const to = join(folder, 'copy.db')
    await expect(copyStore({ from: `sqlite:${file}`, to: `sqlite:${to}` })).rejects.toMatchObject({
      code: 'store/full',
      message: expect.stringContaining(to),
    })
    const [copied] = (await storeStatus(`sqlite:${to}`)).projects
    const [source] = (await storeStatus(`sqlite:${file}`)).projects
    expect(copied?.conversations ?? 0).toBeLessThan(source!.conversations)
    const colloquy = await openColloquy({ ...settings, store: `sqlite:${to}`, readOnly: true })
    onTestFinished(() => colloquy.close())
    expect(await colloquy.verify()).toMatchObject({ clean: true, conversations: copied?.conversations ?? 0 })
  })

  it('a full disk takes no archive of a purge: nothing is purged, and no half file is left behind', async () => {
    const { file } = await givenStore()
    const folder = smallDisk()!
    onTestFinished(() => removeDisk(folder))
    const colloquy = await openColloquy({ ...settings, store: `sqlite:${file}`, archives: folder })
    onTestFinished(() => colloquy.close())
    const { id } = await colloquy.conversations.createConversation({ title: 'kept' })
    const { bavail, bsize } = statfsSync(folder)
    writeFileSync(join(folder, 'ballast'), Buffer.alloc(bavail * bsize))
    await expect(colloquy.conversations.purge(id)).rejects.toMatchObject({
      code: 'store/full',
      message: expect.stringContaining('Nothing was purged; free some room'),
    })
    expect(readdirSync(folder)).toEqual(['ballast'])
    rmSync(join(folder, 'ballast'))
    expect(await colloquy.conversations.purge(id)).toMatchObject({ conversationId: id, events: 1 })
  })

  it('a full disk takes no new store, and says so', async () => {
    const folder = smallDisk()!
    onTestFinished(() => removeDisk(folder))
    const { bavail, bsize } = statfsSync(folder)
    writeFileSync(join(folder, 'ballast'), Buffer.alloc(bavail * bsize - 80_000))
    await expect(openColloquy({ ...settings, store: `sqlite:${join(folder, 'colloquy.db')}` })).rejects.toMatchObject({
      code: 'store/full',
      message: expect.stringContaining('free some room'),
    })
  })
})

describe('another process that holds the write lock', () => {
  async function givenLock(file: string) {
    let held: () => void = () => undefined
    const taken = new Promise<void>(resolve => {
      held = resolve
    })
    const holder = startChild({ program: 'lock-holder.mjs', args: [file], onLine: () => held() })
    onTestFinished(() => holder.kill())
    await taken
    return {
      async letGo() {
        holder.tell('let go')
        await holder.ended
      },
    }
  }

  it('another process that holds the write lock makes appends wait without stopping the event loop; they succeed after it', async () => {
    const { file, sessionId } = await givenStore()
    const colloquy = await openColloquy({ ...settings, store: `sqlite:${file}`, busyTimeoutMs: 60_000 })
    onTestFinished(() => colloquy.close())
    const lock = await givenLock(file)
    let settled = false
    const appends = Promise.all(
      ['four', 'five'].map(content => colloquy.sessions.addMessage(sessionId, { role: 'user', content })),
    ).finally(() => {
      settled = true
    })
    for (let turns = 0; turns < 200; turns++) await turn()
    expect(await contents(colloquy, sessionId)).toEqual(['one', 'two', 'three'])
    expect(settled).toBe(false)
    await lock.letGo()
    await appends
    expect(await contents(colloquy, sessionId)).toEqual(['one', 'two', 'three', 'four', 'five'])
  })

  it('another process that holds the write lock too long is reported as store/busy; nothing was written, and a retry works', async () => {
    const { file, sessionId } = await givenStore()
    const colloquy = await openColloquy({ ...settings, store: `sqlite:${file}`, busyTimeoutMs: 100 })
    onTestFinished(() => colloquy.close())
    const lock = await givenLock(file)
    await expect(colloquy.sessions.addMessage(sessionId, { role: 'user', content: 'four' })).rejects.toMatchObject({
      code: 'store/busy',
      message: expect.stringMatching(/Another process.*Nothing was written; try again/),
    })
    expect(await contents(colloquy, sessionId)).toEqual(['one', 'two', 'three'])
    await lock.letGo()
    await colloquy.sessions.addMessage(sessionId, { role: 'user', content: 'four' })
    expect(await contents(colloquy, sessionId)).toEqual(['one', 'two', 'three', 'four'])
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('another process that holds the write lock does not keep others from opening and reading the store', async () => {
    const { file, sessionId } = await givenStore()
    const lock = await givenLock(file)
    const colloquy = await openColloquy({ ...settings, store: `sqlite:${file}`, busyTimeoutMs: 100 })
    onTestFinished(() => colloquy.close())
    expect(await contents(colloquy, sessionId)).toEqual(['one', 'two', 'three'])
    await lock.letGo()
  })
})

it.each([
  ['nothing', async () => undefined],
  ['a search', (colloquy: Colloquy) => colloquy.conversations.search({ text: 'one' })],
  ['a verify', (colloquy: Colloquy) => colloquy.verify()],
  ['a second opening in the same process', (_: Colloquy, file: string) => openAndClose(file)],
])('[P1] another program that opens and closes the file takes nothing away, also after %s', async (_, before) => {
  const { file, sessionId } = await givenStore()
  const copy = join(temporaryFolder(), 'colloquy.db')
  writeFileSync(copy, readFileSync(file))
  const colloquy = await openColloquy({ ...settings, store: `sqlite:${copy}` })
  onTestFinished(() => colloquy.close())
  await colloquy.sessions.addMessage(sessionId, { role: 'user', content: 'four' })
  await before(colloquy, copy)
  // A program with an older SQLite goes by this lock alone: without it, it removes the write-ahead log as it leaves.
  if (existsSync('/proc/locks')) expect(readFileSync('/proc/locks', 'utf8')).toContain(`:${statSync(copy).ino} `)
  expect(await runChild({ program: 'passer-by.mjs', args: [copy] })).toMatchObject({ code: 0, words: '' })
  await colloquy.sessions.addMessage(sessionId, { role: 'user', content: 'five' })
  // A process that starts now sees what would be left if this one were killed.
  const said = await visit(copy, { readOnly: true, uid: process.getuid?.() })
  expect(said.count?.outcome).toBe('5')
})

async function openAndClose(file: string): Promise<void> {
  const second = await openColloquy({ ...settings, store: `sqlite:${file}` })
  await second.close()
}

it('a store that was closed holds everything in its one file, so that a copy of that file is a backup', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'colloquy.db')
  const colloquy = await openColloquy({ ...settings, store: `sqlite:${file}` })
  const session = await colloquy.sessions.getOrCreateSession(thread)
  await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'one' })
  await colloquy.close()
  const copy = join(folder, 'copy', 'colloquy.db')
  mkdirSync(join(folder, 'copy'))
  writeFileSync(copy, readFileSync(file))
  const again = await openColloquy({ ...settings, store: `sqlite:${copy}` })
  onTestFinished(() => again.close())
  expect(await contents(again, session.id)).toEqual(['one'])
})
