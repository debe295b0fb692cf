/** Archive files that cannot be read, or were not written, to their end: an error to catch, and nothing is left behind. */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { openColloquy } from 'colloquy'
import { NotFound } from 'colloquy/errors'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { cliOn } from '../../support/cli.ts'
import { type FreshColloquy, freshColloquy } from '../../support/colloquy.ts'
import { freshServer } from '../../support/server.ts'
import { temporaryFolder } from '../../support/temporary.ts'

async function purgedConversation(said = 'They are wrong'): Promise<FreshColloquy & { id: string; archive: string }> {
  const one = await freshColloquy()
  const { id } = await one.colloquy.conversations.createConversation({
    title: 'Invoices',
    initial: { role: 'user', content: said },
  })
  const { archive } = await one.colloquy.conversations.purge(id)
  return Object.assign(one, { id, archive })
}

describe('restoring', () => {
  it('restoring from a file that does not exist is refused as not found, and the process goes on', async () => {
    const { colloquy, store, id, archive } = await purgedConversation()
    rmSync(archive)
    const { conversations } = colloquy
    await expect(conversations.restoreFrom(join(temporaryFolder(), 'none.jsonl.gz'))).rejects.toThrow(NotFound)
    await expect(conversations.restore(id)).rejects.toMatchObject({ code: 'not-found', facts: { id: archive } })
    const told = await cliOn(store)('restore', id, '--json')
    expect(told.exitCode).toBe(1)
    expect(told.error()).toMatchObject({ code: 'not-found', facts: { what: 'archive', id: archive } })
  })

  it('[P3] restoring with a used key undoes no purge that came after it', async () => {
    const { colloquy, id } = await purgedConversation()
    const { conversations } = colloquy
    const once = { idempotencyKey: 'bring it back' }
    await conversations.restore(id, 'wanted', once)
    expect(await conversations.restore(id, 'wanted', once)).toMatchObject({ id })
    const { archive } = await conversations.purge(id)
    await expect(conversations.restore(id, 'wanted', once)).rejects.toMatchObject({
      code: 'conversation/purged',
      facts: { archive },
    })
    await expect(conversations.restore(id, 'another reason', once)).rejects.toMatchObject({ code: 'log/key-reused' })
    expect((await conversations.listConversations({})).items).toEqual([])
    expect(await conversations.restore(id, 'wanted', { idempotencyKey: 'once more' })).toMatchObject({ id })
  })

  it('restoring from a file that does not exist is a 404 over HTTP, and the server goes on', async () => {
    const { client, colloquy } = await freshServer()
    const { id } = await colloquy.conversations.createConversation({ title: 'Invoices' })
    rmSync((await colloquy.conversations.purge(id)).archive)
    await expect(client.conversations.restore({ conversationId: id })).rejects.toMatchObject({ code: 'not-found' })
    expect((await client.conversations.list({})).items).toEqual([])
  })

  it('restoring from a folder, or from a file that was cut off or changed, says what is wrong and restores nothing', async () => {
    const { colloquy, id, folder, archive } = await purgedConversation('x'.repeat(50_000))
    const whole = readFileSync(archive)
    const cut = join(folder, 'cut.gz')
    writeFileSync(cut, whole)
    truncateSync(cut, whole.length - 20)
    const changed = join(folder, 'changed.gz')
    writeFileSync(changed, whole.fill(0xff, 40, 60))
    const directory = join(folder, 'directory.gz')
    mkdirSync(directory)
    for (const place of [cut, changed, directory]) {
      await expect(colloquy.conversations.restoreFrom(place)).rejects.toMatchObject({
        code: 'store/failed',
        message: expect.stringContaining('Nothing was restored'),
      })
    }
    await expect(colloquy.conversations.getConversation(id)).rejects.toMatchObject({ code: 'conversation/purged' })
  })

  it.runIf(process.platform === 'linux')(
    'restoring leaves no file open when it stops before the end of one',
    async () => {
      const { colloquy, folder } = await freshColloquy()
      const long = join(folder, 'long.jsonl')
      writeFileSync(long, 'no archive, but a line of something else\n'.repeat(50_000))
      for (const place of [long, folder]) await expect(colloquy.conversations.restoreFrom(place)).rejects.toThrow()
      await vi.waitFor(() => expect(openFiles()).not.toContain(long))
      expect(openFiles()).not.toContain(folder)
    },
  )

  it('restoring brings back every character that ends a line elsewhere', async () => {
    const said = 'one\u2028two\u2029three\u0085four\r\nfive\rsix\u000b'
    const { colloquy, id } = await purgedConversation(said)
    await colloquy.conversations.restore(id)
    expect(await colloquy.conversations.getMessages(id)).toMatchObject([{ content: said }])
  })
})

/** The files this process has open. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap(descriptor => {
    try {
      return [readlinkSync(join('/proc/self/fd', descriptor))]
    } catch {
      return []
    }
  })
}

describe('purging', () => {
  it('[P4] purging removes what an interrupted purge left of its archive, and no file that another process may be writing', async () => {
    const { colloquy, folder } = await purgedConversation()
    const archives = join(folder, 'archives')
    const [left, written, other] = ['left.jsonl.gz.part', 'written.jsonl.gz.part', 'notes.part'] as const
    for (const name of [left, written, other]) writeFileSync(join(archives, name), 'They are wrong')
    const longAgo = new Date(Date.now() - 2 * 60 * 60_000)
    for (const name of [left, other]) utimesSync(join(archives, name), longAgo, longAgo)
    const { id } = await colloquy.conversations.createConversation({ title: 'Another' })
    await colloquy.conversations.purge(id)
    const drafts = readdirSync(archives).filter(name => name.endsWith('.part'))
    expect(drafts.sort()).toEqual([other, written])
  })

  it('[P4] purging works at the same moment as another process writes an archive of its own', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { colloquy, folder } = await freshColloquy()
    const { id } = await colloquy.conversations.createConversation({ title: 'Invoices' })
    const purge = () => colloquy.conversations.purge(id)
    const [one, two] = await Promise.allSettled([purge(), purge()])
    expect([one, two].filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const refused = [one, two].find(({ status }) => status === 'rejected')
    expect(refused).toMatchObject({
      reason: { code: expect.stringMatching(/^(state\/illegal|conversation\/purged)$/) },
    })
    expect(readdirSync(join(folder, 'archives'))).toHaveLength(1)
    await colloquy.conversations.restore(id)
  })
})

describe('a conversation that somebody else purges', () => {
  it('a conversation that is purged while another caller exports or purges it is reported as purged', async () => {
    const { colloquy, reopen: _, ...one } = await freshColloquy()
    const other = await openColloquy({ store: one.store, project: 'shop', archives: join(one.folder, 'archives') })
    onTestFinished(() => other.close())
    const { id } = await colloquy.conversations.createConversation({ title: 'Invoices' })
    const agents = Array.from({ length: 1200 }, (_, index) => `agent-${index % 300}`)
    const say = (name: string) =>
      colloquy.conversations.addEvent(id, { role: 'user', content: 'a', audience: { to: 'agents', agents: [name] } })
    await Promise.all(agents.map(say))

    const lines = other.conversations.export(id)[Symbol.asyncIterator]()
    expect((await lines.next()).done).toBe(false)
    const both = await Promise.allSettled([colloquy, other].map(({ conversations }) => conversations.purge(id)))
    const refused = both.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
    expect(refused).toMatchObject([{ code: 'conversation/purged' }])
    const readOn = async () => {
      while (!(await lines.next()).done);
    }
    await expect(readOn()).rejects.toMatchObject({ code: 'conversation/purged' })
  })
})
