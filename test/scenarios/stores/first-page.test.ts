/** A damaged first page, without which SQLite opens nothing, costs nothing that was said. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { salvage } from 'colloquy/sqlite'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cliOn } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { allMessages, compare, givenStore, open, type Written } from '../../torture/damage.ts'
import { random } from '../../torture/random.ts'

/** Written once, by another process; each test damages a copy. */
const base = mkdtempSync(join(tmpdir(), 'colloquy-first-page-'))
let written: Written[] = []
let intact = Buffer.alloc(0)
beforeAll(async () => {
  written = await givenStore(base)
  intact = readFileSync(join(base, 'intact'))
}, 60_000)
afterAll(() => rmSync(base, { recursive: true, force: true }))

const pageSize = 4096
const garbage = random(2026).bytes(pageSize)

function fileOf(bytes: Buffer): string {
  const file = join(temporaryFolder(), 'colloquy.db')
  writeFileSync(file, bytes)
  return file
}

function damagedBytes(harm: (bytes: Buffer) => unknown): Buffer {
  const bytes = Buffer.from(intact)
  harm(bytes)
  return bytes
}

/** Salvages the file; all that was written is in the new one, and the old one is as it was. */
async function expectAllRescued(file: string, more: readonly string[] = []): Promise<void> {
  const before = readFileSync(file)
  const to = join(temporaryFolder(), 'rescued.db')
  const salvaged = await salvage(file, to)
  expect(salvaged).toMatchObject({ conversations: written.length, losses: [] })
  expect(readFileSync(file).equals(before)).toBe(true)
  const colloquy = await open(to)
  try {
    const contents: string[] = []
    for (const { conversationId, messages } of written) {
      const found = await allMessages(colloquy, conversationId)
      expect(compare(messages, found).identical.size).toBe(messages.length)
      contents.push(...found.map(message => message.content))
    }
    expect(contents).toEqual(expect.arrayContaining([...more]))
    expect((await colloquy.verify({ allProjects: true })).damages).toEqual([])
  } finally {
    await colloquy.close()
  }
}

const page: ReadonlyArray<[string, (bytes: Buffer) => unknown]> = [
  ['its first 4 bytes zeroed', bytes => bytes.fill(0, 0, 4)],
  ['its first 16 bytes overwritten', bytes => garbage.copy(bytes, 0, 0, 16)],
  ['its header zeroed', bytes => bytes.fill(0, 0, 100)],
  ['its header overwritten', bytes => garbage.copy(bytes, 0, 0, 100)],
  ['all but its header zeroed', bytes => bytes.fill(0, 100, pageSize)],
  ['all but its header overwritten', bytes => garbage.copy(bytes, 100, 100)],
  ['all of it zeroed', bytes => bytes.fill(0, 0, pageSize)],
  ['all of it overwritten', bytes => garbage.copy(bytes)],
  ['text instead of it', bytes => bytes.write('Once upon a time. '.repeat(300).slice(0, pageSize))],
]

/** Values that SQLite believes: it opens the file, and reads it wrongly. */
const believed: ReadonlyArray<[string, (bytes: Buffer) => unknown]> = [
  ['pages twice as large', bytes => bytes.writeUInt16BE(2 * pageSize, 16)],
  ['bytes at the end of each page that are not used', bytes => bytes.writeUInt8(8, 20)],
  ['fewer pages than there are', bytes => bytes.writeUInt32BE(40, 28)],
  ['a schema format of the future', bytes => bytes.writeUInt32BE(9, 44)],
  ['a vacuum of its own', bytes => bytes.writeUInt32BE(3, 52)],
  ['another encoding', bytes => bytes.writeUInt32BE(2, 56)],
  ['another application', bytes => bytes.writeUInt32BE(1, 68)],
  ['fewer tables', bytes => bytes.writeUInt16BE(0, 103)],
]

describe('[P13] salvage rescues everything from a store whose first page', () => {
  it.each(page)('has %s', async (_, harm) => {
    await expectAllRescued(fileOf(damagedBytes(harm)))
  })

  it.each(believed)('speaks of %s', async (_, harm) => {
    await expectAllRescued(fileOf(damagedBytes(harm)))
  })

  it('is damaged in any way', async () => {
    const wound = fc.record({
      at: fc.nat(pageSize - 1),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 64 }),
    })
    // Half of them in the header, where every byte means something.
    const inHeader = fc.record({ at: fc.nat(99), bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }) })
    const wounds = fc.array(fc.oneof(wound, inHeader), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(wounds, async wounds => {
        const bytes = damagedBytes(bytes => {
          for (const { at, bytes: own } of wounds) bytes.set(own.subarray(0, pageSize - at), at)
        })
        const folder = mkdtempSync(join(tmpdir(), 'colloquy-first-page-'))
        try {
          writeFileSync(join(folder, 'colloquy.db'), bytes)
          await expectAllRescued(join(folder, 'colloquy.db'))
        } finally {
          rmSync(folder, { recursive: true, force: true })
        }
      }),
      { numRuns: 25, endOnFailure: true },
    )
  })
})

describe('[P13] beside a damaged first page', () => {
  it.each([
    ['without the first page in it', 'only in the write-ahead log'],
    ['with the first page in it', 'only in the write-ahead log, and long '.repeat(600)],
  ])('the write-ahead log is rescued too, %s', async (_, content) => {
    const folder = temporaryFolder()
    const live = join(folder, 'colloquy.db')
    writeFileSync(live, intact)
    const colloquy = await open(live)
    const session = await colloquy.sessions.getOrCreateSession({
      type: 'feature',
      agentType: 'dev',
      featureId: 'feature-1',
    })
    await colloquy.sessions.addMessage(session.id, { role: 'user', content })
    const file = join(folder, 'left', 'colloquy.db')
    mkdirSync(join(folder, 'left'))
    for (const suffix of ['', '-wal']) copyFileSync(live + suffix, file + suffix)
    await colloquy.close()
    writeFileSync(file, readFileSync(file).fill(0, 0, pageSize))
    const log = readFileSync(`${file}-wal`)
    await expectAllRescued(file, [content])
    expect(readFileSync(`${file}-wal`).equals(log)).toBe(true)
  })

  it.each([0, 300, 1000])(
    'the write-ahead log is kept, and rescued, where only %i bytes of the file are left',
    async size => {
      const folder = temporaryFolder()
      const live = join(folder, 'colloquy.db')
      const colloquy = await open(live)
      const { id } = await colloquy.conversations.createConversation({
        title: 'New',
        initial: { role: 'user', content: 'all of it is in the log' },
      })
      const file = join(folder, 'left', 'colloquy.db')
      mkdirSync(join(folder, 'left'))
      for (const suffix of ['', '-wal']) copyFileSync(live + suffix, file + suffix)
      await colloquy.close()
      truncateSync(file, size)
      const log = readFileSync(`${file}-wal`)
      if (size < 512)
        await expect(open(file)).rejects.toMatchObject({ code: expect.stringMatching(/^store\/(damaged|unusable)$/) })
      await salvage(file, `${file}-rescued`)
      expect(readFileSync(`${file}-wal`).equals(log)).toBe(true)
      const rescued = await open(`${file}-rescued`)
      expect(await allMessages(rescued, id)).toMatchObject([{ content: 'all of it is in the log' }])
      await rescued.close()
    },
  )

  it('other damage costs what it hit, and no more', async () => {
    const hurt = written[2]!
    const file = fileOf(
      damagedBytes(bytes => bytes.fill(0, 0, pageSize).fill(0, ...placeOf(hurt.messages[16]!.content))),
    )
    const to = `${file}-rescued`
    await salvage(file, to)
    const colloquy = await open(to)
    let lost = 0
    for (const { conversationId, messages } of written) {
      const { identical, altered } = compare(messages, await allMessages(colloquy, conversationId))
      expect(altered).toEqual([])
      lost += messages.length - identical.size
    }
    expect(await colloquy.verify()).toMatchObject({ clean: false })
    await colloquy.close()
    expect(lost).toBe(1)
  })
})

function placeOf(text: string): [from: number, to: number] {
  const from = intact.indexOf(text)
  return [from, from + text.length]
}

describe('salvage refuses, leaves as it is, and makes nothing of', () => {
  async function expectRefused(file: string, words: RegExp): Promise<void> {
    const before = readFileSync(file)
    const folder = temporaryFolder()
    const refusal = await salvage(file, join(folder, 'rescued.db')).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'store/unusable', message: expect.stringMatching(words) })
    expect((refusal as Error).message).toContain(file)
    expect((refusal as Error).message).not.toContain('--salvage')
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(readdirSync(folder)).toEqual([])
  }

  it.each([1, 10, 10_000])('a text of %i lines', async lines => {
    await expectRefused(
      fileOf(Buffer.from('A line of sixty characters, as a text file has many of them.\n'.repeat(lines))),
      /is not a Colloquy store/,
    )
  })

  it.each([1, 400])("somebody else's database of %i tables", async tables => {
    const file = join(temporaryFolder(), 'theirs.db')
    const theirs = new DatabaseSync(file)
    for (let number = 0; number < tables; number++)
      theirs.exec(`create table recipes_${number} (name text, events text)`)
    theirs.exec(`insert into recipes_0 values ('soup', 'dinner')`)
    theirs.close()
    await expectRefused(file, /is an SQLite database, but not a Colloquy store/)
    writeFileSync(file, readFileSync(file).fill(0, 0, 100))
    await expectRefused(file, /not a Colloquy store/)
  })

  it('a database with a table of the same name as one of ours', async () => {
    const file = join(temporaryFolder(), 'theirs.db')
    const theirs = new DatabaseSync(file)
    theirs.exec(`create table events (day text); create table conversations (id text, info text)`)
    theirs.close()
    await expectRefused(file, /not a Colloquy store/)
  })

  it('a store that is nothing but its first page', async () => {
    await expectRefused(fileOf(intact.subarray(0, pageSize)), /pages that list its tables are lost/)
  })

  it('nothing at all', async () => {
    await expectRefused(fileOf(Buffer.alloc(0)), /not a Colloquy store/)
  })
})

describe('colloquy verify', () => {
  it('[P13] leads from a damaged first page to --salvage, which rescues all', async () => {
    const file = fileOf(damagedBytes(bytes => bytes.fill(0, 0, 16)))
    const to = join(temporaryFolder(), 'rescued.db')
    const cli = cliOn(`sqlite:${file}`)
    const verified = await cli('verify')
    expect(verified.exitCode).toBe(1)
    expect(verified.stderr).toContain("'colloquy verify --salvage NEW'")
    const salvaged = await cli('verify', '--salvage', to)
    expect(salvaged).toMatchObject({ exitCode: 0, stderr: '' })
    expect(salvaged.stdout).toMatch(/^Rescued 6 conversations with \d+ events into .*\nThe new file: clean: 6 conv/)
  })

  it('does not lead round in circles where nothing can be salvaged', async () => {
    const file = fileOf(Buffer.alloc(20 * pageSize, garbage))
    const to = join(temporaryFolder(), 'rescued.db')
    const { exitCode, stdout, stderr } = await cliOn(`sqlite:${file}`)('verify', '--salvage', to)
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toContain('nothing in it that can be salvaged')
    expect(stderr).not.toContain('--salvage')
    expect(existsSync(to)).toBe(false)
  })
})
