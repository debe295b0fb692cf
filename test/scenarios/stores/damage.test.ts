/** Damage to the file: nothing crashes, nothing hangs, nothing wrong is handed out as if it were right. */
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { salvage } from 'colloquy/sqlite'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../support/temporary.ts'
import { allMessages, compare, damageRounds, givenStore, open, type Written } from '../../torture/damage.ts'

/** Written once, by another process; each test damages a copy. */
const base = mkdtempSync(join(tmpdir(), 'colloquy-damage-'))
let written: Written[] = []
beforeAll(async () => {
  written = await givenStore(base)
}, 60_000)
afterAll(() => rmSync(base, { recursive: true, force: true }))

function writtenStore(): { file: string; written: Written[] } {
  const file = join(temporaryFolder(), 'colloquy.db')
  copyFileSync(join(base, 'colloquy.db'), file)
  return { file, written }
}

/** Changes one byte of a text, of the first one that stands behind a place in the file. */
function flip(file: string, text: string, from = 0): void {
  const bytes = readFileSync(file)
  const at = bytes.indexOf(text, from)
  expect(at).toBeGreaterThan(0)
  bytes[at + Math.floor(text.length / 2)]! ^= 1
  writeFileSync(file, bytes)
}

function change(file: string, sql: string): void {
  const connection = new DatabaseSync(file)
  connection.exec(sql)
  connection.close()
}

/** The page that SQLite reads a table from. */
function rootOf(file: string, table: string): number {
  const connection = new DatabaseSync(file, { readOnly: true })
  const { rootpage } = connection.prepare('select rootpage from sqlite_schema where name = ?').get(table)
  connection.close()
  return Number(rootpage)
}

function firstId(file: string, table: string): string {
  const connection = new DatabaseSync(file, { readOnly: true })
  const { id } = connection.prepare(`select id from ${table} limit 1`).get()
  connection.close()
  return String(id)
}

function zero(file: string, page: number): void {
  writeFileSync(file, readFileSync(file).fill(0, (page - 1) * 4096, page * 4096))
}

async function colloquyOn(file: string) {
  const colloquy = await open(file)
  onTestFinished(() => colloquy.close())
  return colloquy
}

const seed = 2026

it(`[P13] 16 rounds of random damage (seed ${seed}): what is read is what was written, or is reported, and can be rescued`, async () => {
  const report = await damageRounds({ folder: temporaryFolder(), rounds: 16, seed })
  console.log(
    `seed ${seed}: ${JSON.stringify(report.outcomes)}; ${report.same} as written, ${report.marked} marked, ${report.rescued} rescued`,
  )
  expect(report.problems).toEqual([])
  expect(report.rounds).toBe(16)
}, 400_000)

describe('a damaged record', () => {
  it('[P13] a damaged record says so itself, is named by verify, and leaves every other message as it was', async () => {
    const { file, written } = writtenStore()
    const hurt = written[2]!
    const message = hurt.messages[16]!
    flip(file, message.content)
    const colloquy = await colloquyOn(file)
    for (const { conversationId, messages } of written) {
      const found = await allMessages(colloquy, conversationId)
      const { identical, marked, altered } = compare(messages, found)
      expect({ identical: identical.size, marked, altered }).toEqual(
        conversationId === hurt.conversationId
          ? { identical: 29, marked: 1, altered: [] }
          : { identical: 30, marked: 0, altered: [] },
      )
    }
    const [marked] = (await allMessages(colloquy, hurt.conversationId)).filter(one => one.missing)
    expect(marked).toMatchObject({ id: message.id, version: message.version, missing: { because: 'damaged' } })
    const { damages } = await colloquy.verify()
    expect(damages.length).toBeGreaterThan(0)
    for (const damage of damages) {
      expect(damage).toMatchObject({ conversationId: hurt.conversationId, version: message.version })
    }
  })

  it('[P13] a damaged record goes on saying so in a rescued file', async () => {
    const { file, written } = writtenStore()
    const hurt = written[2]!
    flip(file, hurt.messages[16]!.content)
    const to = `${file}-rescued`
    const salvaged = await salvage(file, to)
    expect(salvaged).toMatchObject({ conversations: written.length })
    const colloquy = await colloquyOn(to)
    for (const { conversationId, messages } of written) {
      const { identical, altered } = compare(messages, await allMessages(colloquy, conversationId))
      expect(altered).toEqual([])
      expect(identical.size).toBe(conversationId === hurt.conversationId ? 29 : 30)
    }
    expect(await colloquy.verify()).toMatchObject({ clean: false })
  })

  it('[P13] a damaged record that was stored apart because of its size is named by verify', async () => {
    const { file, written } = writtenStore()
    const large = written[3]!.messages[20]!
    flip(file, large.content.slice(200_000, 200_400))
    const colloquy = await colloquyOn(file)
    const { damages } = await colloquy.verify()
    expect(damages).toContainEqual(
      expect.objectContaining({ conversationId: written[3]!.conversationId, version: large.version }),
    )
  })

  it('[P4] a damaged record keeps its conversation from being purged, until its content is given up: the archive could not be restored', async () => {
    const { file, written } = writtenStore()
    const archives = join(dirname(file), 'archives')
    const [hurt, large, whole] = [written[2]!, written[3]!, written[4]!]
    const lost = hurt.messages[16]!
    const largeLost = large.messages[20]!
    flip(file, lost.content)
    flip(file, largeLost.content.slice(200_000, 200_400))
    const { conversations } = await colloquyOn(file)
    for (const [{ conversationId }, { version }] of [
      [hurt, lost],
      [large, largeLost],
    ] as const) {
      await expect(conversations.purge(conversationId)).rejects.toMatchObject({
        code: 'conversation/damaged',
        damages: [{ version, what: expect.any(String) }],
        message: expect.stringMatching(/Nothing was purged.*verify.*erase/),
      })
      expect(readdirSync(archives)).toEqual([])
      expect(await conversations.getConversation(conversationId)).toMatchObject({ id: conversationId })
    }
    await conversations.purge(whole.conversationId)
    for (const [{ conversationId, messages }, { id }] of [
      [hurt, lost],
      [large, largeLost],
    ] as const) {
      await conversations.erase(id)
      await conversations.purge(conversationId)
      await conversations.restore(conversationId)
      const found = await conversations.getMessages(conversationId, { limit: 1000 })
      expect(found.filter(one => one.missing)).toMatchObject([{ id, missing: { because: 'erased' } }])
      expect(found.filter(one => !one.missing)).toHaveLength(messages.length - 1)
    }
  })

  it('[P13] a damaged first event does not keep the rest of its conversation from being rescued', async () => {
    const { file, written } = writtenStore()
    const hurt = written[1]!
    change(
      file,
      `update events set body = '{"broken' where version = 1
       and conversation = (select conversation from conversations where id = '${hurt.conversationId}')`,
    )
    await salvage(file, `${file}-rescued`)
    const colloquy = await colloquyOn(`${file}-rescued`)
    const { identical } = compare(hurt.messages, await allMessages(colloquy, hurt.conversationId))
    expect(identical.size).toBe(30)
  })
})

describe('a damaged head', () => {
  it('[P13] a damaged first event does not hide later events from replay and time travel', async () => {
    const { file } = writtenStore()
    change(file, "update events set body = replace(body, 'a', 'b') where version = 1")
    const colloquy = await open(file)
    onTestFinished(() => colloquy.close())
    const { items } = await colloquy.conversations.listConversations({ limit: 1 })
    const { id, title, version, workItem } = items[0]!
    const versions: number[] = []
    for await (const step of colloquy.conversations.replay(id)) versions.push(step.version)
    expect(versions).toEqual(Array.from({ length: version }, (_, index) => index + 1))
    expect((await colloquy.conversations.at(id, version)).conversation).toMatchObject({ id, title, workItem })
  })

  it('[P13] a damaged head of a conversation hides neither its messages nor the other conversations', async () => {
    const { file, written } = writtenStore()
    const hurt = written[1]!
    change(file, `update conversations set info = '{"broken' where id = '${hurt.conversationId}'`)
    const colloquy = await colloquyOn(file)
    for (const { conversationId, messages } of written) {
      const { identical } = compare(messages, await allMessages(colloquy, conversationId))
      expect(identical.size).toBe(30)
    }
    const listed = await colloquy.conversations.listConversations({ limit: 100 })
    expect(listed.items.map(one => one.id)).toEqual(
      expect.arrayContaining(written.filter(one => one !== hurt).map(one => one.conversationId)),
    )
    const { messages: hits } = await colloquy.conversations.search({ text: 'lighthouse', limit: 400 })
    expect(new Set(hits.map(hit => hit.conversationId)).size).toBeGreaterThanOrEqual(written.length - 1)
    expect((await colloquy.verify()).damages).toContainEqual(
      expect.objectContaining({ conversationId: hurt.conversationId }),
    )
  })

  it('[P13] a damaged head of a work item hides neither it nor the others from the lists of work', async () => {
    const { file } = writtenStore()
    const before = await colloquyOn(file)
    for (const beadId of ['one', 'two', 'three']) await before.work.addBead({ beadId, title: beadId })
    await before.work.moveBead('three', 'done')
    const ids = await Promise.all(
      ['two', 'three'].map(async beadId => (await before.work.getBead(beadId)).conversationId),
    )
    await before.close()
    change(file, `update conversations set info = '{"broken' where id in ('${ids.join("', '")}')`)
    const colloquy = await colloquyOn(file)
    const listed = await colloquy.work.listBeads({ states: ['open'] })
    expect(listed.items.map(bead => bead.beadId).sort()).toEqual(['one', 'two'])
    expect((await colloquy.work.ready()).map(one => one.title).sort()).toEqual(['one', 'two'])
    expect(await colloquy.work.moveBead('two', 'in_progress')).toMatchObject({ state: 'in_progress' })
    expect((await colloquy.work.listBeads({ states: ['in_progress'] })).items).toMatchObject([{ beadId: 'two' }])
  })

  it('[P13] a damaged head of a session hides neither the other sessions nor its conversation', async () => {
    const { file, written } = writtenStore()
    const hurt = written[1]!
    change(
      file,
      `update sessions set head = '{"broken' where conversation = (select conversation from conversations where id = '${hurt.conversationId}')`,
    )
    const colloquy = await colloquyOn(file)
    const { identical } = compare(hurt.messages, await allMessages(colloquy, hurt.conversationId))
    expect(identical.size).toBe(30)
    const listed = await colloquy.sessions.listSessions({ limit: 100 })
    expect(listed.items.length).toBeGreaterThanOrEqual(written.length - 1)
    expect((await colloquy.verify()).damages).toContainEqual(
      expect.objectContaining({ conversationId: hurt.conversationId }),
    )
  })
})

describe('a damaged file', () => {
  it('[P13] damage to an index alone is named by verify, and all it no longer leads to can be rescued, and what was written since', async () => {
    for (const table of ['projects', 'conversations', 'sessions']) {
      const { file, written } = writtenStore()
      const index = `sqlite_autoindex_${table}_1`
      flip(file, firstId(file, table), (rootOf(file, index) - 1) * 4096)
      const colloquy = await colloquyOn(file)
      const report = await colloquy.verify({ allProjects: true })
      expect(report.damages.map(one => one.what)).toContainEqual(expect.stringContaining(index))
      const session = await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId: 'since' })
      await colloquy.sessions.addMessage(session.id, { role: 'user', content: 'written since' })
      await colloquy.close()

      const to = `${file}-rescued`
      await salvage(file, to)
      const rescued = await colloquyOn(to)
      for (const { conversationId, messages } of written) {
        expect(compare(messages, await allMessages(rescued, conversationId)).wrong).toEqual([])
      }
      expect(await rescued.sessions.getAllMessages(session.id)).toMatchObject([{ content: 'written since' }])
      expect((await rescued.verify({ allProjects: true })).damages).toEqual([])
    }
  })

  it('[P13] damage to the definition of a table is named by verify; salvage reads the other tables, or refuses the file', async () => {
    for (const [table, text] of [
      ['lanes', 'lane integer primary key'],
      ['events', 'digest blob not null'],
      ['conversations', 'conversation integer primary key autoincrement'],
    ] as const) {
      const { file, written } = writtenStore()
      // 'integer' becomes 'integur', 'digest' 'digust': SQLite takes any word for a type or a name.
      const bytes = readFileSync(file)
      const at = bytes.indexOf(text)
      expect(at).toBeGreaterThan(0)
      bytes[at + text.indexOf('ge') + 1]! ^= 16
      writeFileSync(file, bytes)
      const found = await open(file)
        .then(colloquy => colloquy.verify({ allProjects: true }).finally(() => colloquy.close()))
        .then(
          ({ damages }) => damages[0]!.what,
          (refusal: Error) => refusal.message,
        )
      // Some of it SQLite notices itself.
      expect(found).toMatch(
        table === 'conversations' ? /is damaged/ : `the table ${table} is not defined as it was made`,
      )

      const to = `${file}-rescued`
      if (table !== 'lanes') {
        await expect(salvage(file, to)).rejects.toMatchObject({
          code: 'store/unusable',
          message: expect.stringMatching(/Nothing was written.*backup.*\.recover/),
        })
        expect(existsSync(to)).toBe(false)
        continue
      }
      expect((await salvage(file, to)).losses).toEqual([
        'the table lanes is not defined as it was made; its rows were not read',
      ])
      const rescued = await colloquyOn(to)
      for (const { conversationId, messages } of written) {
        expect(compare(messages, await allMessages(rescued, conversationId)).wrong).toEqual([])
      }
    }
  })

  it('[P13] damage to a lane is named by verify, and its messages, also later ones, can be rescued', async () => {
    const { file } = writtenStore()
    const before = await colloquyOn(file)
    const { id } = await before.conversations.createConversation({ title: 'T' })
    for (const content of ['one', 'two']) await before.conversations.addEvent(id, { role: 'user', content })
    await before.close()
    change(
      file,
      'pragma foreign_keys = off; update lanes set lane = lane + 8 where lane = (select max(lane) from lanes)',
    )
    const colloquy = await colloquyOn(file)
    const { damages } = await colloquy.verify()
    expect(new Set(damages.map(damage => damage.conversationId))).toEqual(new Set([id]))
    await colloquy.conversations.addEvent(id, { role: 'user', content: 'since' })
    await colloquy.close()

    const to = `${file}-rescued`
    const { losses } = await salvage(file, to)
    expect(losses).toEqual([])
    const rescued = await colloquyOn(to)
    const messages = await rescued.conversations.getMessages(id)
    expect(messages.map(message => message.content)).toEqual(['one', 'two', 'since'])
  })

  it('[P13] damage to the row of a project, or to its key, is named by verify, and all of it can be rescued', async () => {
    for (const sql of ['delete from projects', 'update conversations set project = 99']) {
      const { file, written } = writtenStore()
      change(file, `pragma foreign_keys = off; ${sql}`)
      const colloquy = await colloquyOn(file)
      expect((await colloquy.verify()).damages.map(one => one.what)).toContainEqual(
        expect.stringMatching(/conversations belong to no project$/),
      )
      await colloquy.close()
      const to = `${file}-rescued`
      expect((await salvage(file, to)).losses).toEqual([])
      const rescued = await colloquyOn(to)
      for (const { conversationId, messages } of written) {
        expect(compare(messages, await allMessages(rescued, conversationId)).identical.size).toBe(messages.length)
      }
    }
  })

  it('[P13] a file that was cut off is refused with the way out, and its front part can be rescued', async () => {
    const { file, written } = writtenStore()
    truncateSync(file, Math.floor((readFileSync(file).length * 3) / 4))
    await expect(open(file)).rejects.toMatchObject({
      code: 'store/damaged',
      message: expect.stringMatching(/Nothing was overwritten.*salvage/),
    })
    const { events } = await salvage(file, `${file}-rescued`)
    expect(events).toBeGreaterThan(100)
    const colloquy = await colloquyOn(`${file}-rescued`)
    const { items } = await colloquy.conversations.listConversations({ limit: 100 })
    for (const { id } of items) {
      const { messages } = written.find(one => one.conversationId === id)!
      expect(compare(messages, await allMessages(colloquy, id)).altered).toEqual([])
    }
  })

  it.each(['conversations', 'lanes'])(
    '[P13] a file without the first page of the table %s still has every message, and salvage finds them',
    async table => {
      const { file, written } = writtenStore()
      zero(file, rootOf(file, table))
      await salvage(file, `${file}-rescued`)
      const colloquy = await colloquyOn(`${file}-rescued`)
      let identical = 0
      for (const { conversationId, messages } of written) {
        const compared = compare(messages, await allMessages(colloquy, conversationId))
        expect(compared.altered).toEqual([])
        identical += compared.identical.size
      }
      expect(identical).toBe(180)
    },
  )

  it('[P13] a file without the first page of the table events has no message left; salvage says so and invents none', async () => {
    const { file, written } = writtenStore()
    zero(file, rootOf(file, 'events'))
    const { events, losses } = await salvage(file, `${file}-rescued`)
    expect(events).toBe(0)
    expect(losses).toContainEqual(expect.stringMatching(/^rows 1 to \d+ of the table events could not be read$/))
    for (const { conversationId } of written) {
      expect(losses).toContain(`conversation ${conversationId}: none of its events could be read`)
    }
    const colloquy = await colloquyOn(`${file}-rescued`)
    expect((await colloquy.conversations.listConversations({ limit: 100 })).items).toEqual([])
    const session = { type: 'feature', agentType: 'dev', featureId: 'feature-0' } as const
    expect(await colloquy.sessions.getAllMessages((await colloquy.sessions.getOrCreateSession(session)).id)).toEqual([])
  })

  it('[P13] salvage of a damaged file brings nothing back that was erased or purged', async () => {
    const { file, written } = writtenStore()
    const [purged, kept] = [written[0]!, written[1]!]
    const erased = kept.messages[3]!
    const before = await colloquyOn(file)
    await before.conversations.erase(erased.id)
    await before.conversations.purge(purged.conversationId)
    await before.close()
    zero(file, rootOf(file, 'lanes'))
    await salvage(file, `${file}-rescued`)
    const colloquy = await colloquyOn(`${file}-rescued`)
    const { items } = await colloquy.conversations.listConversations({ limit: 100 })
    expect(items.map(one => one.id)).not.toContain(purged.conversationId)
    expect(compare(kept.messages, await allMessages(colloquy, kept.conversationId)).identical.size).toBe(29)
    await colloquy.close()
    const bytes = readFileSync(`${file}-rescued`)
    for (const { content } of [erased, ...purged.messages]) expect(bytes.includes(content.slice(0, 60))).toBe(false)
  })

  it('a damaged search index is built again from the log', async () => {
    const folder = temporaryFolder()
    const messages = (await givenStore(folder)).flatMap(one => one.messages)
    const file = join(folder, 'colloquy.db')
    const index = `${file}-search`
    const bytes = readFileSync(index)
    for (let at = 4096; at < bytes.length; at += 4096) bytes.fill(0xee, at, at + 64)
    writeFileSync(index, bytes)
    const colloquy = await colloquyOn(file)
    const { messages: hits } = await colloquy.conversations.search({ text: 'lighthouse', limit: 1000 })
    expect(hits.map(hit => hit.messageId).sort()).toEqual(messages.map(one => one.id).sort())
  })

  it('a damaged file is never written over by salvage', async () => {
    const { file } = writtenStore()
    await expect(salvage(file, file)).rejects.toMatchObject({ code: 'store/unusable' })
  })
})
