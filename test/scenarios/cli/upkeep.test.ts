/** The command line for upkeep: verify, export, archive, restore, purge, erase. */
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import { NotFound } from 'colloquy/errors'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cliOn, runCli, startCli } from '../../support/cli.ts'
import { type FreshColloquy, freshColloquy } from '../../support/colloquy.ts'

async function withConversation(): Promise<FreshColloquy & { id: string; file: string }> {
  const one = await freshColloquy()
  const { id } = await one.colloquy.conversations.createConversation({
    title: 'Invoices',
    initial: { role: 'user', author: 'owner', content: 'They are wrong' },
  })
  await one.colloquy.conversations.addEvent(id, { role: 'assistant', author: 'dev', content: 'They are right now' })
  return Object.assign(one, { id, file: join(one.folder, 'colloquy.db') })
}

describe('colloquy verify', () => {
  it('colloquy verify says that a whole store is clean', async () => {
    const { store } = await withConversation()
    const { exitCode, stdout, stderr } = await cliOn(store)('verify')
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: 'clean: 1 conversation, 3 events checked.\n',
      stderr: '',
    })
  })

  it('colloquy verify reports a project that does not exist, and names the existing ones, instead of clean', async () => {
    const { store } = await withConversation()
    const [text, json, repaired, all] = await Promise.all([
      runCli(['--store', store, 'verify', '--project', 'shpo']),
      runCli(['--store', store, 'verify', '--project', 'shpo', '--json']),
      runCli(['--store', store, 'verify', '--project', 'shpo', '--repair']),
      runCli(['--store', store, 'verify', '--project', 'shpo', '--all-projects']),
    ])
    expect([text, json, repaired, all].map(({ exitCode }) => exitCode)).toEqual([1, 1, 1, 0])
    expect([text.stdout, json.stdout, repaired.stdout]).toEqual(['', '', ''])
    expect(text.stderr).toContain('There is no project "shpo" in this store. [not-found]')
    expect(text.stderr).toContain('It also has: shop (--project NAME).')
    expect(json.error()).toMatchObject({ code: 'not-found', facts: { what: 'project', projects: ['shop'] } })
  })

  it('colloquy verify says that a new store is clean', async () => {
    const { store } = await freshColloquy()
    expect(await cliOn(store)('verify')).toMatchObject({
      exitCode: 0,
      stdout: 'clean: 0 conversations, 0 events checked.\n',
    })
  })

  it('colloquy verify names a damaged record by conversation and version, while the rest stays readable', async () => {
    const { store, id, file, colloquy } = await withConversation()
    await colloquy.close()
    changeFile(file, database => database.exec(`update events set body = replace(body, 'wrong', 'fine')`))
    const cli = cliOn(store)
    const [text, json, shown] = await Promise.all([cli('verify'), cli('verify', '--json'), cli('show', id)])
    expect(text.exitCode).toBe(3)
    expect(text.stdout).toMatch(
      new RegExp(`^damaged {2}shop ${id} #2 {2}.*\n1 damage: 1 conversation, 3 events checked.\n$`),
    )
    expect(json.exitCode).toBe(3)
    expect(json.json()).toMatchObject({ clean: false, damages: [{ project: 'shop', conversationId: id, version: 2 }] })
    expect(shown.stdout).toMatch(/#2 .*\n {2}\(damaged: .*\)\n/)
    expect(shown.stdout).toContain('They are right now')
  })

  it('colloquy verify exits with 3 also when its output is not read to the end', async () => {
    const { store, file, colloquy } = await withConversation()
    await colloquy.close()
    changeFile(file, database => database.exec(`update events set body = replace(body, 'wrong', 'fine')`))
    const { child, ended } = startCli(['--store', store, '--project', 'shop', 'verify'])
    child.stdout!.destroy()
    expect(await ended).toMatchObject({ exitCode: 3, stderr: '' })
  })

  it('colloquy verify names --salvage when the file itself is damaged, and rescues it into a new file', async () => {
    const { store, id, file, folder, colloquy } = await withConversation()
    await colloquy.close()
    destroyTable(file, 'meta')
    const rescued = join(folder, 'rescued.db')
    const cli = cliOn(store)

    const verified = await cli('verify')
    expect(verified.exitCode).toBe(3)
    expect(verified.stdout).toMatch(/^damaged {2}the file {2}file structure: /)
    expect(verified.stderr).toContain('colloquy verify --salvage NEW')
    const { exitCode, stdout, stderr } = await cli('verify', '--repair')
    expect([exitCode, stdout, stderr]).toEqual([verified.exitCode, verified.stdout, verified.stderr])

    const damaged = readFileSync(file)
    for (const address of ['postgres://x/y', '']) {
      expect((await cli('verify', '--salvage', address)).stderr).toContain('--salvage: must be the path of a new file')
    }
    const salvaged = await cli('verify', '--salvage', rescued)
    expect(salvaged).toMatchObject({ exitCode: 0 })
    expect(salvaged.stdout).toContain('Rescued 1 conversation with 3 events into')
    expect(readFileSync(file)).toEqual(damaged)

    const [shown, again] = await Promise.all([
      cliOn(`sqlite:${rescued}`)('show', id),
      cli('verify', '--salvage', rescued, '--json'),
    ])
    expect(shown.stdout).toContain('They are wrong')
    expect(again.exitCode).toBe(1)
    expect(again.error()).toMatchObject({ code: 'store/unusable' })
  })
})

describe('Ctrl-C while a file is being written', () => {
  it.each(['export', 'purge'])('Ctrl-C during %s leaves nothing of the file behind, and says so', async what => {
    const { store, folder, colloquy, id } = await withConversation()
    const content = 'something to say. '.repeat(50)
    for (let round = 0; round < 4; round++) {
      await Promise.all(
        Array.from({ length: 400 }, () => colloquy.conversations.addEvent(id, { role: 'user', content })),
      )
    }
    await colloquy.close()
    const place = join(folder, 'place')
    mkdirSync(place)
    const how = what === 'export' ? ['--output', join(place, 'login.jsonl.gz')] : ['--yes', '--to', place]
    const { child, ended } = startCli(['--store', store, '--project', 'shop', '--json', what, id, ...how])
    while (child.exitCode === null && readdirSync(place).length === 0) await turn()
    child.kill('SIGINT')
    const stopped = await ended
    expect(stopped).toMatchObject({ exitCode: 130, stdout: '' })
    expect(stopped.error()).toMatchObject({ code: 'interrupted', facts: { signal: 'SIGINT' } })
    expect(readdirSync(place)).toEqual([])
    expect((await cliOn(store)('verify')).stdout).toBe('clean: 1 conversation, 1,603 events checked.\n')
  })
})

describe('colloquy export', () => {
  it('colloquy export streams the lines of an archive to stdout', async () => {
    const { store, id, colloquy } = await withConversation()
    const { stdout } = await cliOn(store)('export', id)
    const lines: string[] = []
    for await (const line of colloquy.conversations.export(id)) lines.push(line)
    expect(stdout.trimEnd().split('\n')).toEqual(lines)
    expect((await cliOn(store)('export', id, '--output', '-')).stdout).toBe(stdout)
  })

  it('colloquy export of damaged events says so, and exits with 3: restore would refuse it', async () => {
    const { store, id, file, folder, colloquy } = await withConversation()
    await colloquy.close()
    changeFile(file, database => database.exec(`update events set body = replace(body, 'wrong', 'fine')`))
    const output = join(folder, 'damaged.jsonl')
    const cli = cliOn(store)
    const [streamed, written] = await Promise.all([cli('export', id), cli('export', id, '--output', output, '--json')])
    expect(streamed.exitCode).toBe(3)
    expect(streamed.stdout.trimEnd().split('\n')).toHaveLength(5)
    expect(streamed.stderr).toMatch(/^damaged {2}#2: restore refuses this archive\./)
    expect(written).toMatchObject({ exitCode: 3, stderr: '' })
    expect(written.json()).toMatchObject({ events: 3, output, damages: [{ version: 2 }] })
  })

  it('colloquy export writes a file whole, never over another unless told to', async () => {
    const { store, id, folder } = await withConversation()
    const output = join(folder, 'out.jsonl')
    const cli = cliOn(store)
    writeFileSync(output, 'mine', { mode: 0o600 })

    const refused = await cli('export', id, '--output', output)
    expect(refused.exitCode).toBe(1)
    expect(refused.stderr).toContain('exists already; --force replaces it')
    expect(readFileSync(output, 'utf8')).toBe('mine')

    const written = await cli('export', id, '--output', output, '--force', '--json')
    expect(written.json()).toMatchObject({ conversationId: id, format: 'jsonl', events: 3, output })
    expect(readFileSync(output, 'utf8').trimEnd().split('\n')).toHaveLength(5)
    if (process.platform !== 'win32') expect(statSync(output).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder).filter(name => name.endsWith('.part'))).toEqual([])
  })

  it('colloquy export never replaces the store by an archive, by whatever name', async () => {
    const { colloquy, store, id, folder, file } = await withConversation()
    await colloquy.close()
    linkSync(file, join(folder, 'same'))
    symlinkSync('colloquy.db-search', join(folder, 'link'))
    for (const name of [
      'colloquy.db',
      'same',
      'colloquy.db-wal',
      'colloquy.db-journal',
      'colloquy.db-search',
      'link',
    ]) {
      const refused = await cliOn(store)('export', id, '--output', join(folder, name), '--force')
      expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
      expect(refused.stderr).toContain('belongs to the store itself')
    }
    expect((await cliOn(store)('verify')).stdout).toMatch(/^clean: 1 conversation/)
  })

  it('colloquy export removes what a killed export to the same file left, and not what another is writing', async () => {
    const { store, id, folder } = await withConversation()
    const output = join(folder, 'out.jsonl')
    const [left, begun, own] = ['aa01bb02cc03', 'dd04ee05ff06', 'mine'].map(name => `${output}.${name}.part`)
    for (const path of [left!, begun!, own!]) writeFileSync(path, 'half')
    for (const path of [left!, own!]) utimesSync(path, 0, 0)
    expect(await cliOn(store)('export', id, '--output', output)).toMatchObject({ exitCode: 0, stderr: '' })
    expect([left, begun, own].map(path => existsSync(path!))).toEqual([false, true, true])
  })

  it.runIf(process.platform !== 'win32')(
    'colloquy export follows a link and leaves it a link, also when its target does not exist',
    async () => {
      const { store, id, folder } = await withConversation()
      const [elsewhere, link, target] = [
        join(folder, 'elsewhere'),
        join(folder, 'link'),
        join(folder, 'elsewhere', 'out'),
      ]
      const cli = cliOn(store)
      mkdirSync(elsewhere)
      symlinkSync('elsewhere', join(folder, 'short'))
      symlinkSync(join('short', 'out'), link)
      expect(await cli('export', id, '--output', link)).toMatchObject({ exitCode: 0, stderr: '' })
      const whole = readFileSync(target, 'utf8')
      writeFileSync(target, 'old')
      expect((await cli('export', id, '--output', link)).stderr).toContain(
        `${link} exists already; --force replaces it`,
      )
      const written = await cli('export', id, '--output', link, '--force', '--json')
      expect(written.json()).toMatchObject({ output: link, bytes: whole.length })
      expect(readFileSync(target, 'utf8')).toBe(whole)
      expect(lstatSync(link).isSymbolicLink()).toBe(true)
      expect(readdirSync(elsewhere)).toEqual(['out'])
    },
  )

  it.runIf(process.platform !== 'win32')('colloquy export replaces nothing that is no regular file', async () => {
    const { store, id, folder } = await withConversation()
    const [socket, link, circle] = ['socket', 'link', 'circle'].map(name => join(folder, name)) as [
      string,
      string,
      string,
    ]
    const server = createServer().listen(socket)
    onTestFinished(() => void server.close())
    symlinkSync(socket, link)
    symlinkSync(circle, circle)
    for (const place of [socket, link, folder, circle]) {
      const refused = await cliOn(store)('export', id, '--output', place, '--force', '--json')
      expect(refused.exitCode).toBe(1)
      expect(refused.error()).toMatchObject({ code: 'input/invalid', message: expect.stringContaining(place) })
    }
    expect(lstatSync(socket).isSocket()).toBe(true)
    expect(readdirSync(folder).filter(name => name.endsWith('.part'))).toEqual([])
  })

  it('colloquy export writes Markdown in which no message can pass for a heading', async () => {
    const { store, id, colloquy } = await withConversation()
    await colloquy.conversations.addEvent(id, { role: 'user', content: '## 9 · admin\n```\nnever closed' })
    const { stdout } = await cliOn(store)('export', id, '--format', 'markdown')
    expect(stdout).toMatch(/^# Invoices\n/)
    expect(stdout).toMatch(/\n## 2 · owner · user · 2026-11-15T10:00:00\.\d+Z\n\n> They are wrong\n/)
    expect(stdout).toContain('\n> ## 9 · admin\n> ```\n> never closed\n')
  })
})

describe('colloquy archive and restore', () => {
  it('colloquy archive and restore move a conversation out and back, as the user of the system through the command line', async () => {
    const { store, id, colloquy } = await withConversation()
    const cli = cliOn(store)
    expect((await cli('archive', id, '--reason', 'released')).stdout).toBe(
      `Conversation ${id} "Invoices" is archived.\n`,
    )
    expect(await colloquy.conversations.getConversation(id)).toMatchObject({ status: 'archived' })
    expect((await cli('restore', id, '--json')).json()).toMatchObject({
      kind: 'conversation',
      conversation: { id, status: 'active' },
    })
    const [archived] = await colloquy.conversations.getEvents(id, { from: 4 })
    expect(archived).toMatchObject({ channel: 'cli', event: { type: 'conversation.archived', reason: 'released' } })
    expect(archived?.actor).not.toBe('local')
  })

  it('colloquy archive and restore put a session away and reopen it', async () => {
    const { colloquy, store } = await freshColloquy()
    const { id } = await colloquy.sessions.getOrCreateSession({ type: 'bead', agentType: 'dev', beadId: 'b1' })
    const cli = cliOn(store)
    expect((await cli('archive', id)).stdout).toBe(`Session ${id} of dev is archived.\n`)
    expect((await cli('list', '--sessions', '--json')).json().items).toEqual([])
    expect((await cli('list', '--sessions', '--status', 'all', '--json')).json().items).toMatchObject([{ id }])
    expect((await cli('restore', id)).stdout).toBe(`Session ${id} of dev is active.\n`)
  })

  it('colloquy restore brings a purged conversation back by its id and by its archive', async () => {
    const { store, id, colloquy } = await withConversation()
    const cli = cliOn(store)
    await colloquy.conversations.purge(id)
    expect(await cli('restore', id)).toMatchObject({
      stderr: '',
      stdout: `Conversation ${id} "Invoices" is active, with 4 events.\n`,
    })
    const { archive } = await colloquy.conversations.purge(id)
    expect(await cli('restore', archive)).toMatchObject({ exitCode: 0, stderr: '' })
    expect(await colloquy.conversations.getMessages(id)).toMatchObject([
      { content: 'They are wrong' },
      { content: 'They are right now' },
    ])
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })

  it('colloquy restore keeps a purged conversation for its full age again, and says why', async () => {
    const { colloquy, store, id } = await withConversation()
    await colloquy.conversations.purge(id)
    const { stdout } = await cliOn(store)('restore', id, '--reason', 'needed')
    expect(stdout).toBe(`Conversation ${id} "Invoices" is active, with 4 events.\n`)
    const events = await colloquy.conversations.getEvents(id)
    expect(events.at(-1)?.event).toEqual({ type: 'conversation.restored', reason: 'needed', stays: true })
  })

  it('colloquy restore refuses a reason where nothing would keep it', async () => {
    const { store, colloquy, id } = await withConversation()
    const session = await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'dev', threadId: 't' })
    await colloquy.sessions.archiveSession(session.id)
    const { archive } = await colloquy.conversations.purge(id)
    const cli = cliOn(store)
    for (const one of [session.id, archive]) {
      const { exitCode, stderr } = await cli('restore', one, '--reason', 'it is wanted')
      expect(exitCode).toBe(1)
      expect(stderr).toContain('--reason: nothing keeps it')
    }
    expect(await colloquy.sessions.getSession(session.id)).toMatchObject({ status: 'archived' })
    await expect(colloquy.conversations.getConversation(id)).rejects.toMatchObject({ code: 'conversation/purged' })
  })

  it('colloquy restore brings a conversation back from an export, packed or not', async () => {
    const { store, id, folder, colloquy } = await withConversation()
    const cli = cliOn(store)
    for (const name of ['export.jsonl', 'export.jsonl.gz']) {
      const output = join(folder, name)
      await cli('export', id, '--output', output)
      await colloquy.conversations.purge(id)
      expect(await cli('restore', output)).toMatchObject({ exitCode: 0, stderr: '' })
    }
    expect(await colloquy.verify()).toMatchObject({ clean: true, events: 3 })
  })
})

describe('colloquy purge', () => {
  it('colloquy purge removes nothing when it cannot ask and --yes is missing', async () => {
    const { store, id, colloquy } = await withConversation()
    const { exitCode, stderr } = await cliOn(store)('purge', id)
    expect(exitCode).toBe(2)
    expect(stderr).toContain('Add --yes')
    expect(await colloquy.conversations.getConversation(id)).toMatchObject({ version: 3 })
  })

  it('colloquy purge writes the archive to the given place and says where it is', async () => {
    const { store, id, folder } = await withConversation()
    const cold = join(folder, 'cold')
    const cli = cliOn(store)
    const { stdout } = await cli('purge', id, '--yes', '--to', cold, '--reason', 'tidying up')
    const [, archive = ''] = stdout.match(/Its archive: (.*)\n/) ?? []
    expect(archive.startsWith(cold)).toBe(true)
    expect(existsSync(archive)).toBe(true)
    const shown = await cli('show', id, '--json')
    expect(shown.exitCode).toBe(1)
    expect(shown.error()).toMatchObject({ code: 'conversation/purged', facts: { archive } })
  })

  it('colloquy purge takes only a folder or a bucket to write to', async () => {
    const { store, id, folder, colloquy } = await withConversation()
    const cli = cliOn(store, { cwd: folder })
    for (const place of ['', 'http://x', 'file:///x', 'gs:bucket']) {
      const refused = await cli('purge', id, '--yes', '--to', place, '--json')
      expect(refused.exitCode).toBe(2)
      expect(refused.error()).toMatchObject({
        code: 'usage',
        message: expect.stringContaining(`"${place}" is not a place`),
      })
    }
    expect(readdirSync(folder).filter(name => !name.startsWith('colloquy.db'))).toEqual([])
    expect(await colloquy.conversations.getConversation(id)).toMatchObject({ version: 3 })
    expect(await cli('purge', id, '--yes', '--to', './a:b')).toMatchObject({ exitCode: 0 })
    expect(readdirSync(join(folder, 'a:b'))).toHaveLength(1)
  })

  it('colloquy purge removes nothing when the archive cannot be written', async () => {
    const { store, id, file, colloquy } = await withConversation()
    const places = [file, join(file, 'cold'), ...(process.platform === 'linux' ? ['/proc/cold'] : [])]
    for (const place of places) {
      const refused = await cliOn(store)('purge', id, '--yes', '--to', place, '--json')
      expect(refused.exitCode).toBe(1)
      expect(refused.error()).toMatchObject({
        code: 'store/failed',
        message: expect.stringContaining('Nothing was purged'),
      })
    }
    expect(await colloquy.conversations.getConversation(id)).toMatchObject({ version: 3 })
  })
})

describe('colloquy erase', () => {
  it('colloquy erase removes content and names the archives it cannot reach', async () => {
    const { store, id, folder, colloquy } = await withConversation()
    const { archive } = await colloquy.conversations.purge(id)
    await colloquy.conversations.restore(id)
    const [first] = await colloquy.conversations.getMessages(id)
    const cli = cliOn(store)
    expect((await cli('erase', first!.id)).exitCode).toBe(2)

    const { exitCode, stdout } = await cli('erase', first!.id, '--yes', '--reason', 'a password was in it')
    expect(exitCode).toBe(0)
    expect(stdout).toContain(`Erased the content of message ${first!.id} (conversation ${id} #2).`)
    expect(stdout).toContain(`out of reach:\n  ${archive}\n`)
    expect(archive.startsWith(folder)).toBe(true)

    const [log, unknown] = await Promise.all([cli('log', id), cli('erase', 'nothing', '--yes', '--json')])
    expect(log.stdout).not.toContain('They are wrong')
    expect(log.stdout).toContain('the content of version 2: a password was in it')
    expect(unknown.error()).toMatchObject({ code: new NotFound('message', 'nothing').code })
  })
})

function changeFile(file: string, change: (database: InstanceType<typeof DatabaseSync>) => void): void {
  const database = new DatabaseSync(file)
  change(database)
  database.close()
}

/** Overwrites the first page of a table, as a failing disk might. */
function destroyTable(file: string, table: string): void {
  let place = { page: 0, size: 0 }
  changeFile(file, database => {
    database.exec('pragma wal_checkpoint(truncate)')
    const { page } = database.prepare('select rootpage as page from sqlite_schema where name = ?').get(table) as {
      page: number
    }
    const { size } = database.prepare('select page_size as size from pragma_page_size').get() as { size: number }
    place = { page, size }
  })
  const bytes = readFileSync(file)
  bytes.fill(0x5a, (place.page - 1) * place.size, place.page * place.size)
  writeFileSync(file, bytes)
}
