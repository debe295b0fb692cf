/** A rescued file keeps more than its conversations: idempotency keys and records of purges. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import { type Colloquy, openColloquy } from 'colloquy'
import { salvage } from 'colloquy/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cliOn, startCli } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const message = { role: 'user' as const, content: 'Pay the invoice' }
const inKeysPage = 'idempotency-key-of-which-a-page-holds-some-'

async function storeWithKeys(keys = 1) {
  const file = join(temporaryFolder(), 'colloquy.db')
  const { colloquy, now } = await freshColloquy({ store: `sqlite:${file}` })
  const session = await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'dev', threadId: 't' })
  const options = (number: number) => ({ idempotencyKey: `${inKeysPage}${String(number).padStart(5, '0')}` })
  const said = []
  for (let number = 0; number < keys; number++) {
    said.push(await colloquy.sessions.addMessage(session.id, message, options(number)))
  }
  const again = await colloquy.conversations.createConversation({ title: 'Again' })
  await colloquy.conversations.purge(again.id)
  await colloquy.conversations.restore(again.id)
  const purged = await colloquy.conversations.createConversation({ title: 'Old', initial: message })
  await colloquy.conversations.purge(purged.id)
  await colloquy.close()

  async function rescue() {
    const salvaged = await salvage(file, `${file}-rescued`)
    return { salvaged, rescued: await open(`${file}-rescued`) }
  }
  async function open(path: string): Promise<Colloquy> {
    const colloquy = await openColloquy({ store: `sqlite:${path}`, project: 'shop', tokens: 'fast', clock: now })
    onTestFinished(() => colloquy.close())
    return colloquy
  }
  const repeat = (rescued: Colloquy, number: number) =>
    rescued.sessions.addMessage(session.id, message, options(number))
  return { file, session, said, purged, rescue, open, repeat }
}

/** Spoils the pages of a file that hold a text, as many as asked for from the middle of them. */
function spoilPagesWith(file: string, text: string, most: number): number {
  const bytes = readFileSync(file)
  const pages: number[] = []
  for (let at = 0; at < bytes.length; at += 4096) if (bytes.subarray(at, at + 4096).includes(text)) pages.push(at)
  const from = Math.max(0, Math.floor((pages.length - most) / 2))
  for (const at of pages.slice(from, from + most)) bytes.fill(0xee, at, at + 4096)
  writeFileSync(file, bytes)
  return pages.length
}

/** Changes the one place of a text in a file that a question to it shows, and leaves the others as they are. */
function spoilShown(file: string, text: string, question: string): void {
  const bytes = readFileSync(file)
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
    const spoilt = Buffer.from(bytes)
    spoilt[at] = spoilt[at]! ^ 2
    writeFileSync(file, spoilt)
    const database = new DatabaseSync(file, { readOnly: true })
    const shown = JSON.stringify(database.prepare(question).all())
    database.close()
    if (shown.includes(spoilt.toString('utf8', at, at + text.length))) return
  }
  throw new Error(`nothing shows ${text}`)
}

describe('a rescued file', () => {
  it('[P13] a rescued file has a conversation under its id, although a bit of the id is flipped in its row', async () => {
    const { file, session, rescue } = await storeWithKeys()
    spoilShown(file, session.conversationId, 'select id from conversations not indexed')
    const { salvaged, rescued } = await rescue()
    expect(salvaged.losses).toEqual([])
    expect(await rescued.conversations.getMessages(session.conversationId)).toMatchObject([message])
  })

  it('[P3] a rescued file returns the first result to a call that is repeated by its key', async () => {
    const { rescue, repeat, said, session } = await storeWithKeys()
    const { salvaged, rescued } = await rescue()
    expect(salvaged.losses).toEqual([])
    expect(await repeat(rescued, 0)).toEqual(said[0])
    expect(await rescued.sessions.getAllMessages(session.id)).toHaveLength(1)
    expect((await rescued.verify({ allProjects: true })).damages).toEqual([])
  })

  it('[P4] a rescued file has the records of purges: it names them, and restores the conversation from its archive', async () => {
    const { rescue, purged } = await storeWithKeys()
    const { rescued } = await rescue()
    const { conversations } = rescued
    await expect(conversations.getConversation(purged.id)).rejects.toMatchObject({ code: 'conversation/purged' })
    await conversations.restore(purged.id)
    expect(await conversations.getMessages(purged.id)).toMatchObject([{ content: message.content }])
    expect((await rescued.verify({ allProjects: true })).damages).toEqual([])
  })

  it('[P13] a rescued file whose end is cut off later is found by verify, whatever was purged before', async () => {
    const { rescue, open, file, session } = await storeWithKeys()
    const { rescued } = await rescue()
    for (const content of ['one', 'two']) await rescued.sessions.addMessage(session.id, { role: 'user', content })
    await rescued.close()
    const connection = new DatabaseSync(`${file}-rescued`)
    connection.exec('delete from events where position = (select max(position) from events)')
    connection.close()
    const again = await open(`${file}-rescued`)
    expect((await again.verify({ allProjects: true })).damages).toMatchObject([
      { what: expect.stringContaining('1 events were removed') },
    ])
  })

  it('[P3][P13] a rescued file has the keys on either side of a damaged place, and says that some are lost', async () => {
    const { file, rescue, repeat, said, session } = await storeWithKeys(300)
    expect(spoilPagesWith(file, inKeysPage, 1)).toBeGreaterThan(5)
    const { salvaged, rescued } = await rescue()
    expect(salvaged.losses).toEqual(['parts of the table keys could not be read'])
    for (const number of [0, 1, 298, 299]) expect(await repeat(rescued, number)).toEqual(said[number])
    expect(await rescued.sessions.getAllMessages(session.id)).toHaveLength(300)
  })

  it('[P13] a rescued file says so when the records of purges could not be read', async () => {
    const { file, rescue, session } = await storeWithKeys()
    expect(spoilPagesWith(file, '/archives/', 1)).toBe(1)
    const { salvaged, rescued } = await rescue()
    expect(salvaged.losses).toEqual(['rows 1 to 2 of the table purges could not be read'])
    expect(await rescued.sessions.getAllMessages(session.id)).toHaveLength(1)
  })
})

it('[P13] salvage keeps the hashes of damaged records: later records are still proved', async () => {
  const { colloquy, store, folder } = await freshColloquy({ store: `sqlite:${join(temporaryFolder(), 'shop.db')}` })
  const { id } = await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId: 't' })
  for (const content of ['one', 'two', 'three']) await colloquy.sessions.addMessage(id, { role: 'user', content })
  await colloquy.close()
  const path = store.slice('sqlite:'.length)
  const file = new DatabaseSync(path)
  file.exec(`update events set body = replace(body, 'two', 'TWO') where version = 4`)
  file.close()
  const rescued = join(folder, 'rescued.db')
  await salvage(path, rescued)
  const again = await openColloquy({ store: `sqlite:${rescued}`, project: 'shop', sweepEveryMs: null })
  onTestFinished(() => again.close())
  expect((await again.verify()).damages.map(({ version }) => version)).toEqual([4])
})

it('[P13] salvage names its file when it is whole: a salvage that is killed leaves nothing that passes for a store', async () => {
  const { file, rescue } = await storeWithKeys(200)
  const before = readdirSync(dirname(file)).length
  const { child, ended } = startCli(['--store', `sqlite:${file}`, 'verify', '--salvage', `${file}-rescued`])
  while (child.exitCode === null && readdirSync(dirname(file)).length <= before) await turn()
  child.kill('SIGKILL')
  await ended
  expect(existsSync(`${file}-rescued`)).toBe(false)
  const own = `${file}-rescued-salvage-mine`
  writeFileSync(own, 'somebody else’s')
  expect((await rescue()).salvaged).toMatchObject({ losses: [], conversations: 2 })
  const left = readdirSync(dirname(file)).filter(name => name.includes('-salvage-'))
  expect(left, 'what the killed one left').toEqual([basename(own)])
})

it('[P13] salvage does not mix its file with the write-ahead log of an earlier one', async () => {
  const { file, rescue } = await storeWithKeys()
  const { rescued } = await rescue()
  const wal = `${file}-rescued-wal`
  await rescued.conversations.createConversation({ title: 'In the log of the first' })
  const left = readFileSync(wal)
  await rescued.close()
  rmSync(`${file}-rescued`)
  writeFileSync(wal, left)

  await expect(salvage(file, `${file}-rescued`)).rejects.toMatchObject({
    code: 'store/unusable',
    message: expect.stringContaining(wal),
  })
  expect(existsSync(`${file}-rescued`)).toBe(false)
  rmSync(wal)
  const again = await rescue()
  expect((await again.rescued.conversations.listConversations()).items).toHaveLength(again.salvaged.conversations)
})

describe('salvage refuses, and leaves as it is,', () => {
  async function expectRefused(file: string, message: RegExp): Promise<void> {
    const before = readFileSync(file)
    const folder = temporaryFolder()
    const refusal = await salvage(file, join(folder, 'rescued.db')).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'store/unusable', message: expect.stringMatching(message) })
    expect((refusal as Error).message).toContain(file)
    expect((refusal as Error).message).not.toContain('--salvage')
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(readdirSync(folder)).toEqual([])
  }

  it('a text file', async () => {
    const file = join(temporaryFolder(), 'notes.txt')
    writeFileSync(file, 'A line of sixty characters, as a text file has many of them.\n'.repeat(100))
    await expectRefused(file, /is not a Colloquy store/)
  })

  it('a database of another program, even if a table of it has the name of one of ours', async () => {
    const file = join(temporaryFolder(), 'theirs.db')
    const theirs = new DatabaseSync(file)
    theirs.exec('create table events (day text); create table conversations (id text, info text)')
    theirs.close()
    await expectRefused(file, /is not a Colloquy store/)
  })

  it.each([
    ['its first page', (bytes: Buffer) => bytes.fill(0, 0, 4096)],
    ['its header', (bytes: Buffer) => bytes.fill(0, 0, 100)],
    ['the list of its tables', (bytes: Buffer) => bytes.fill(0xee, 100, 4096)],
  ])('[P13] a store without %s, and names the ways that are left', async (_, harm) => {
    const { file } = await storeWithKeys()
    writeFileSync(file, harm(readFileSync(file)))
    await expectRefused(file, /Nothing was written.*backup.*\.recover/)
    const verified = await cliOn(`sqlite:${file}`)('verify')
    expect([1, 3]).toContain(verified.exitCode)
  })

  it('an empty file', async () => {
    const file = join(temporaryFolder(), 'empty.db')
    writeFileSync(file, '')
    await expectRefused(file, /is not a Colloquy store/)
  })

  it.each([0, 300])('[P13] a file of %i bytes whose write-ahead log is there, and keeps the log', async size => {
    const { file, session, open } = await storeWithKeys()
    const live = await open(file)
    await live.sessions.addMessage(session.id, { role: 'user', content: 'in the log' })
    const left = join(dirname(file), 'left', 'colloquy.db')
    mkdirSync(dirname(left))
    for (const suffix of ['', '-wal']) copyFileSync(file + suffix, left + suffix)
    truncateSync(left, size)
    const log = readFileSync(`${left}-wal`)
    await expect(salvage(left, `${left}-rescued`)).rejects.toMatchObject({
      code: expect.stringMatching(/^store\/(damaged|unusable)$/),
    })
    expect(readFileSync(`${left}-wal`).equals(log)).toBe(true)
    expect(existsSync(`${left}-rescued`)).toBe(false)
  })
})
