/** Projects of one store that are not alike: their own settings, their own folder, what is switched off for them. */
import { join } from 'node:path'
import { FeatureOff, PathRefused } from 'colloquy/errors'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { readConfiguration } from '../../../src/app/configuration/configuration-reader.ts'
import { runCli } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'
import { folderWith } from '../../support/repository.ts'
import { freshServer } from '../../support/server.ts'

const thread = { type: 'thread', agentType: 'dev', threadId: 't' } as const

describe('a project', () => {
  it('a project has its own settings over those for all projects, key by key', async () => {
    const { colloquy } = await freshColloquy({
      requests: { budget: 9000, recall: false },
      sessionExpiresInMs: 1000,
      projects: { bank: { requests: { budget: 5000 }, sessionExpiresInMs: null, redact: true } },
    })
    const secret = `sk-ant-api03-${'a1B2'.repeat(20)}`
    const told = []
    for (const project of ['shop', 'bank', 'elsewhere']) {
      const { sessions } = colloquy.as({ project })
      const { id, expiresInMs } = await sessions.getOrCreateSession(thread)
      const { content } = await sessions.addMessage(id, { role: 'user', content: `Use ${secret}` })
      told.push([project, (await sessions.previewRequest(id, 'Hello')).budget, expiresInMs, content.includes(secret)])
    }
    expect(told).toEqual([
      ['shop', 9000, 1000, true],
      ['bank', 5000, null, false],
      ['elsewhere', 9000, 1000, true],
    ])
  })

  it('a project can have agents switched off, or every message on its own', async () => {
    const heard: string[] = []
    const model = scriptedModel(({ messages }) => {
      heard.push(JSON.stringify(messages))
      return 'Yes.'
    })
    const { colloquy } = await freshColloquy({
      agents: { model },
      projects: { bank: { features: { agents: false } }, club: { features: { conversations: false } } },
    })
    const bank = colloquy.as({ project: 'bank' })
    const { id } = await bank.sessions.getOrCreateSession(thread)
    await expect(bank.agents.run(id, { message: 'Hello' })).rejects.toThrow(FeatureOff)
    expect(await bank.sessions.getAllMessages(id)).toEqual([])
    for (const project of ['shop', 'club']) {
      const { sessions, agents } = colloquy.as({ project })
      const { id } = await sessions.getOrCreateSession(thread)
      await agents.run(id, { message: 'My name is Ada' })
      await agents.run(id, { message: 'What is my name?' })
    }
    expect(heard.map(text => text.includes('Ada'))).toEqual([true, true, true, false])
  })

  it('a project runs agents by itself where its settings say so, and nowhere else', async () => {
    const { colloquy } = await freshColloquy({
      agents: { model: scriptedModel('Yes.') },
      projects: { club: { agents: { autorun: true, defaultAgent: 'dev' } } },
    })
    const [shop, club] = ['shop', 'club'].map(project => colloquy.as({ project }))
    for (const { conversations } of [shop!, club!]) {
      await conversations.createConversation({ title: 'x', initial: { role: 'user', content: 'Hello' } })
    }
    for await (const update of club!.subscribe({ from: 'start' })) if (update.event.event.type === 'run.ended') break
    expect(await shop!.agents.running()).toEqual([])
    const { items } = await shop!.conversations.listConversations()
    expect(items[0]!.version).toBe(2)
  })

  it('a project has the files of its own folder, and without a folder none', async () => {
    const [own, bank] = ['shop', 'bank'].map(name => folderWith({ 'notes.md': `Notes of the ${name}` }))
    const { colloquy } = await freshColloquy({ root: own!, projects: { bank: { root: bank! } } })
    const found: Array<string | undefined> = []
    for (const project of ['shop', 'bank', 'elsewhere']) {
      const { conversations } = colloquy.as({ project })
      const { id } = await conversations.createConversation({ title: 'x' })
      const { id: messageId } = await conversations.addEvent(id, { role: 'user', content: 'See file:notes.md' })
      const view = await conversations.buildAgentMessages(id, 'dev', { trigger: { messageId } })
      found.push(/Notes of the \w+/.exec(JSON.stringify(view.messages))?.[0])
      const read = conversations.recordReadFile(id, { agent: 'dev', path: 'notes.md' })
      if (project === 'elsewhere') await expect(read).rejects.toThrow(PathRefused)
      else expect(await read).toBe('notes.md')
    }
    expect(found).toEqual(['Notes of the shop', 'Notes of the bank', undefined])
  })

  it('a project without a folder gives its agents no tools for files and programs, and starts none', async () => {
    let offered: string[] = []
    const model = scriptedModel(({ tools = [] }) => {
      offered = tools.map(({ name }) => name)
      return 'Yes.'
    })
    const { client } = await freshServer({ open: { agents: { model } } })
    const elsewhere = { project: 'elsewhere' }
    const { id: sessionId } = await client.sessions.getOrCreate({ ...elsewhere, body: thread })
    const description = await client.sessions.description({ ...elsewhere, sessionId })
    await client.sessions.describe({ ...elsewhere, sessionId, body: { ...description, allowedTools: ['*'] } })
    await client.runs.start({ ...elsewhere, sessionId, query: { wait: true }, body: { message: 'Hello' } })
    expect(offered).toContain('ask')
    expect(offered.filter(name => /file|git|command/.test(name))).toEqual([])
    const program = client.runs.start({ ...elsewhere, sessionId, body: { message: 'x', model: 'command:true' } })
    await expect(program).rejects.toMatchObject({ code: 'state/illegal' })
    const gathering = client.sessions.updateContext({ ...elsewhere, sessionId, body: { gatherProject: true } })
    await expect(gathering).rejects.toMatchObject({ code: 'input/invalid' })
  })
})

describe('projects in a configuration file', () => {
  const file = `project: shop
store: sqlite:shop.db
requests: { budget: 9000 }
projects:
  shop:
    requests: { budget: 7000, recall: false }
  bank:
    root: ../bank
    redact: true
    features: { agents: false }
`

  it('projects in a configuration file apply to their project, the environment over them; config says where each value comes from', async () => {
    const folder = folderWith({ 'package.json': '{}', 'colloquy.config.yaml': file })
    const place = join(folder, 'colloquy.config.yaml')
    expect(await readConfiguration({ file: place, env: { COLLOQUY_BUDGET: '8000' } })).toMatchObject({
      requests: { budget: 8000 },
      projects: { shop: { requests: { recall: false } }, bank: { root: join(folder, '../bank') } },
    })
    const settings = async (args: string[], env = {}) => {
      const { settings } = (await runCli(['config', '--json', ...args], { cwd: folder, env })).json()
      return new Map((settings as Array<{ name: string }>).map(one => [one.name, one]))
    }
    const [shop, bank, variable] = await Promise.all([
      settings([]),
      settings(['--project', 'bank']),
      settings([], { COLLOQUY_BUDGET: '8000' }),
    ])
    expect(shop!.get('requests.budget')).toMatchObject({ value: 7000, from: `${place} (projects.shop)` })
    expect(shop!.get('requests.trigger')).toMatchObject({ from: 'default' })
    expect(shop!.get('projects.bank.redact')).toMatchObject({ value: true, from: place })
    expect(shop!.get('redact')).toMatchObject({ value: false, from: 'default' })
    expect(bank!.get('redact')).toMatchObject({ value: true, from: `${place} (projects.bank)` })
    expect(bank!.get('features.agents')).toMatchObject({ value: false })
    expect(bank!.get('requests.budget')).toMatchObject({ value: 9000, from: place })
    expect(variable!.get('requests.budget')).toMatchObject({ value: 8000, from: 'COLLOQUY_BUDGET' })
  })

  it.each([
    [file.replace('redact: true', 'redakt: true'), 'projects.bank.redakt', 9, 'redact'],
    [file.replace('agents: false', 'agnts: false'), 'projects.bank.features.agnts', 10, 'agents'],
    [file.replace('budget: 7000', 'budget: much'), 'projects.shop.requests.budget', 6, undefined],
  ])('projects in a configuration file name the line of an error in them', async (text, field, line, nearest) => {
    const place = join(folderWith({ 'colloquy.config.yaml': text }), 'colloquy.config.yaml')
    await expect(readConfiguration({ file: place, env: {} })).rejects.toMatchObject({
      code: 'configuration/invalid',
      facts: { field, line, ...(nearest !== undefined && { nearest }) },
    })
  })

  it('a configuration file may be called colloquy.yaml; two files are an error that names both', async () => {
    const folder = folderWith({ 'package.json': '{}', 'colloquy.yaml': file })
    expect((await runCli(['config', '--json'], { cwd: folder })).stdout).toContain('colloquy.yaml (projects.shop)')
    const both = folderWith({ 'package.json': '{}', 'colloquy.yaml': file, 'colloquy.config.yaml': file })
    const { stderr } = await runCli(['config'], { cwd: both })
    expect(stderr).toMatch(/colloquy\.config\.yaml and .*colloquy\.yaml; keep one/)
  })
})
