/** Derived rows on the disk are damaged: reported, hiding nothing else, and repaired by the log. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { type Colloquy, openColloquy } from 'colloquy'
import { StoreReadOnly } from 'colloquy/errors'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cliOn } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'

/** Two conversations in a real file, closed. */
async function filledStore() {
  const { colloquy, store, folder, reopen } = await freshColloquy()
  const { conversations } = colloquy
  const ids: string[] = []
  for (const title of ['Lighthouse keeper', 'Harbour master']) {
    const { id } = await conversations.createConversation({
      title,
      initial: { role: 'user', content: 'the tide turns' },
    })
    await conversations.addEvent(id, { role: 'assistant', author: 'dev', content: 'pinned tide', pinned: true })
    const { version } = await conversations.transitionPhase(id, { to: 'plan', summary: 'all is well' })
    await conversations.acknowledge(id, 'dev', version)
    ids.push(id)
  }
  const heads = await stateOf(colloquy, ids)
  await colloquy.close()
  const file = join(folder, 'colloquy.db')
  return { file, store, reopen, cli: cliOn(store), hurt: ids[0]!, other: ids[1]!, ids, heads }
}

async function stateOf(colloquy: Colloquy, ids: readonly string[]) {
  return Promise.all(
    ids.map(async id => ({
      conversation: await colloquy.conversations.getConversation(id),
      sessions: (await colloquy.sessions.listSessions({ conversationId: id })).items,
    })),
  )
}

/** Changes one byte of a text that stands in the file once, in a head. */
function flip(file: string, text: string): void {
  const bytes = readFileSync(file)
  const at = bytes.indexOf(text)
  expect(at).toBeGreaterThan(0)
  bytes[at + text.length - 2]! ^= 1
  writeFileSync(file, bytes)
}

function change(file: string, sql: string): void {
  const connection = new DatabaseSync(file)
  connection.exec(sql)
  connection.close()
}

/** The log as it stands in the file. */
function logIn(file: string): unknown[] {
  const connection = new DatabaseSync(file)
  const rows = connection.prepare('select * from events order by position').all()
  connection.close()
  return rows
}

const row = (id: string) => `(select conversation from conversations where id = '${id}')`

describe('[P13] repair', () => {
  it('[P13] repair writes heads again that differ from the log after a flipped byte, and leaves the log alone', async () => {
    const { file, cli, reopen, hurt, ids, heads } = await filledStore()
    flip(file, `{"id":"${hurt}","project":"shop","title":"Lighthouse keeper"`.slice(0, -10))
    const log = logIn(file)
    const found = await cli('verify')
    expect(found.exitCode).toBe(3)
    expect(found.stdout).toContain(`shop ${hurt}  its head differs from what its log says`)
    expect(found.stderr).toContain("'colloquy verify --repair' writes heads anew")

    const repaired = await cli('verify', '--repair')
    expect(repaired.exitCode).toBe(0)
    expect(repaired.stdout).toMatch(new RegExp(`^repaired shop ${hurt} {2}head: it differed from what its log says\n`))
    expect(repaired.stdout).toMatch(/\nThe full-text index is built again: 4 messages\.\nclean: 2 conversations/)
    expect(logIn(file)).toEqual(log)
    expect(await stateOf(await reopen(), ids)).toEqual(heads)
  })

  it('[P13] repair writes heads again that cannot be read, are missing or belong to no conversation', async () => {
    const { file, cli, reopen, hurt, other, ids, heads } = await filledStore()
    const lost = heads[1]!.sessions[0]!.id
    change(
      file,
      `update conversations set info = '{"broken', status = 'archived' where id = '${hurt}';
       update sessions set head = 'null' where conversation = ${row(hurt)};
       delete from sessions where conversation = ${row(other)};
       insert into sessions (project, id, conversation, session_key, agent, status, head)
         select project, 'ghost', conversation, 'ghost', 'ghost', 'archived', '{}' from conversations where id = '${hurt}'`,
    )
    const { repaired, report } = (await cli('verify', '--repair', '--json')).json() as {
      repaired: { heads: Array<{ sessionId?: string; what: string }>; indexed: number }
      report: { clean: boolean }
    }
    expect(repaired.heads.map(({ sessionId, what }) => [sessionId, what])).toEqual([
      [undefined, 'it could not be read'],
      [heads[0]!.sessions[0]!.id, 'it could not be read'],
      ['ghost', 'the log knows no such session'],
      [lost, 'it was missing'],
    ])
    expect(report).toMatchObject({ clean: true, damages: [] })
    expect(await stateOf(await reopen(), ids)).toEqual(heads)
  })

  it('[P13] repair fixes the columns that heads are looked up by, which verify names', async () => {
    const { file, cli, reopen, hurt, other, ids, heads } = await filledStore()
    change(
      file,
      `update conversations set status = 'archived' where id = '${hurt}';
       update conversations set work_key = '["thread","else"]' where id = '${other}';
       update sessions set session_key = 'else' where conversation = ${row(hurt)};
       pragma foreign_keys = off;
       update sessions set project = 99 where conversation = ${row(other)}`,
    )
    const session = (index: number) => heads[index]!.sessions[0]!.id
    const { damages } = (await cli('verify', '--json')).json() as { damages: Array<{ what: string }> }
    expect(damages.map(one => one.what)).toEqual([
      'its status is another than its log says',
      'it is not found by what it is about',
      `session ${session(1)} is not found by its agent and work item`,
    ])
    const { repaired, report } = (await cli('verify', '--repair', '--json')).json() as {
      repaired: { heads: Array<{ conversationId: string; what: string }> }
      report: { clean: boolean }
    }
    expect(repaired.heads.map(({ conversationId, what }) => [conversationId, what])).toEqual([
      [hurt, 'its status was another than its log says'],
      [hurt, 'it was not found by its key'],
      [other, 'its work item was another than its log says'],
      [other, 'it was not found by its key'],
    ])
    expect(report.clean).toBe(true)
    expect(await stateOf(await reopen(), ids)).toEqual(heads)
  })

  it('[P13] repair builds the full-text index again, whatever its damage', async () => {
    const { file, cli, reopen } = await filledStore()
    const hits = async () => ((await cli('search', 'tide', '--json')).json().messages as unknown[]).length
    expect(await hits()).toBe(4)
    change(`${file}-search`, 'delete from docs; delete from titles')
    expect(await hits()).toBe(0)
    expect((await cli('verify', '--repair')).stdout).toContain('built again: 4 messages.')
    expect(await hits()).toBe(4)
    rmSync(`${file}-search`)
    const colloquy = await reopen()
    expect(await colloquy.repair()).toEqual({ heads: [], indexed: 4 })
    const { conversations } = await colloquy.conversations.search({ text: 'Lighthose' })
    expect(conversations).toMatchObject([{ title: 'Lighthouse keeper' }])
  })

  it('[P13] repair keeps a readable head where the log itself is damaged: it may know more', async () => {
    const { file, cli, reopen, hurt, heads } = await filledStore()
    change(file, `update events set body = '{"broken' where type = 'phase.changed' and conversation = ${row(hurt)}`)
    const repaired = await cli('verify', '--repair')
    expect(repaired.exitCode).toBe(3)
    expect(repaired.stdout).not.toContain('repaired ')
    expect(repaired.stdout).toMatch(new RegExp(`damaged {2}shop ${hurt} #5 `))
    const colloquy = await reopen()
    expect(await colloquy.conversations.getConversation(hurt)).toEqual(heads[0]!.conversation)

    await colloquy.close()
    change(file, `update conversations set info = '' where id = '${hurt}'`)
    await cli('verify', '--repair')
    // The valid events can still be read.
    const again = await (await reopen()).conversations.getConversation(hurt)
    expect(again).toMatchObject({ title: 'Lighthouse keeper', phase: 'chat', status: 'active', pins: [3] })
  })

  it('[P13] repair is of one project unless told otherwise, and refused on a store opened for reading', async () => {
    const { file, store, cli, hurt } = await filledStore()
    change(file, `update conversations set info = '{"broken' where id = '${hurt}'`)
    const elsewhere = await openColloquy({ store, project: 'bank', sweepEveryMs: null })
    onTestFinished(() => elsewhere.close())
    expect(await elsewhere.repair()).toMatchObject({ heads: [] })
    expect(await elsewhere.repair({ allProjects: true })).toMatchObject({ heads: [{ conversationId: hurt }] })
    const reader = await openColloquy({ store, project: 'shop', readOnly: true })
    onTestFinished(() => reader.close())
    await expect(reader.repair()).rejects.toThrow(StoreReadOnly)
    expect(await cli('verify', '--repair', '--salvage', 'x')).toMatchObject({ exitCode: 2 })
  })

  it('[P13] repair works next to writers, and writes no head that is older than the log', async () => {
    const { reopen, hurt } = await filledStore()
    const colloquy = await reopen()
    const titles = Array.from({ length: 40 }, (_, index) => `Title ${index}`)
    const writing = (async () => {
      for (const title of titles) await colloquy.conversations.describe(hurt, { title })
    })()
    for (let i = 0; i < 5; i++) await colloquy.repair()
    await writing
    expect((await colloquy.conversations.getConversation(hurt)).title).toBe('Title 39')
    expect((await colloquy.verify()).damages).toEqual([])
  })
})

describe('[P13] a conversation of which neither head nor beginning can be read', () => {
  it('[P13] a conversation without a readable head or first event is skipped in lists with its reason, hides no other, and gives what can be read of it', async () => {
    const { file, cli, reopen, hurt, other } = await filledStore()
    change(
      file,
      `update conversations set info = '{"broken' where id = '${hurt}';
       update events set body = '{"broken' where version = 1 and conversation = ${row(hurt)}`,
    )
    const [text, json, shown] = await Promise.all([cli('list'), cli('list', '--json'), cli('show', hurt)])
    expect(text.exitCode).toBe(0)
    expect(text.stdout).toContain('Harbour master')
    expect(text.stdout).not.toContain(hurt)
    expect(text.stderr).toMatch(new RegExp(`^damaged {2}${hurt} {2}neither its head nor the record of how it began`))
    expect(json.json()).toMatchObject({ items: [{ id: other }], damaged: [{ conversationId: hurt }] })
    expect(shown.stdout).toContain('the tide turns')
    const colloquy = await reopen()
    expect(await colloquy.conversations.listConversations()).toMatchObject({
      items: [{ id: other }],
      damaged: [{ conversationId: hurt, reason: expect.stringContaining('neither its head') }],
    })
    await colloquy.conversations.addEvent(other, { role: 'user', content: 'all well here' })
    const { messages } = await colloquy.conversations.search({ text: 'tide' })
    expect(messages.length).toBeGreaterThanOrEqual(2)
    expect((await colloquy.repair()).heads).toEqual([])
  })
})
