/** A project's settings from its file and the environment: for the command line always, for the library on demand. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openColloquy } from 'colloquy'
import { describe, expect, it } from 'vitest'
import { readConfiguration } from '../../../src/app/configuration/configuration-reader.ts'
import { runCli } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'
import { folderWith } from '../../support/repository.ts'

const file = `
# How this project's agents are asked.
project: shop
store: sqlite:data/shop.db
requests:
  budget: 6000
  model: house:small
  strategy: sliding_window
  models:
    house:small: { contextWindow: 20000, outputLimit: 2000 }
server:
  port: 4040
`

describe('a configuration file', () => {
  it('a configuration file sets what the command line uses, with the environment and then options over it', async () => {
    const folder = folderWith({ 'package.json': '{}', 'data/': '', 'colloquy.config.yaml': file })
    const colloquy = await openColloquy({
      store: `sqlite:${join(folder, 'data/shop.db')}`,
      project: 'shop',
      sweepEveryMs: null,
    })
    const dev = await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'dev', threadId: 't' })
    await colloquy.close()
    const asked = ['request', dev.id, '--message', 'Hello', '--json']
    const [plain, withEnvironment, withOptions, explained] = await Promise.all([
      runCli(asked, { cwd: folder }),
      runCli(asked, { cwd: folder, env: { COLLOQUY_BUDGET: '5000', COLLOQUY_STRATEGY: 'recent' } }),
      runCli([...asked, '--budget', '4500'], { cwd: folder, env: { COLLOQUY_BUDGET: '5000' } }),
      runCli([...asked.slice(0, -1), '--explain'], { cwd: folder }),
    ])
    expect(plain.json()).toMatchObject({ budget: 6000, strategy: 'sliding_window', ledger: { model: { known: true } } })
    expect(withEnvironment.json()).toMatchObject({ budget: 5000, strategy: 'recent' })
    expect(withOptions.json()).toMatchObject({ budget: 4500 })
    expect(explained.stdout).toMatch(/strategy +sliding_window \(of the project\)/)
    expect(explained.stdout).toMatch(/model +house:small/)
  })

  it.each([
    ['requests:\n  buget: 3', 'requests.buget', 'budget'],
    ['requests:\n  strategy: { name: recent, mesages: 3 }', 'requests.strategy.mesages', 'messages'],
    [
      'requests:\n  models:\n    m: { contextWindow: 1, outputLimit: 1, inputlimits: 3 }',
      'requests.models.m.inputlimits',
      'inputLimit',
    ],
    ['session_expires_in_ms: 3', 'session_expires_in_ms', 'sessionExpiresInMs'],
    ['colour: blue', 'colour', undefined],
  ])(
    'a configuration file with %j is refused, naming the key and the nearest known one',
    async (text, field, nearest) => {
      const folder = folderWith({ 'package.json': '{}', 'colloquy.config.yaml': text })
      const { exitCode, stderr } = await runCli(['list', '--json'], { cwd: folder })
      const { code, message, facts } = JSON.parse(stderr).error
      expect(exitCode).toBe(1)
      expect({ code, field: facts.field, nearest: facts.nearest }).toEqual({
        code: 'configuration/invalid',
        field,
        nearest,
      })
      expect(message).toContain(nearest ? `did you mean "${nearest}"?` : 'Known are store, project')
      expect(message).toContain('colloquy.config.yaml')
    },
  )

  it.each([
    ['requests: { budget: -3 }', 'requests.budget'],
    ['requests: { strategy: clever }', 'requests.strategy'],
    ['requests: [', 'file'],
    ['just words', 'the whole file'],
  ])('a configuration file with %j is refused', async (text, field) => {
    const place = join(folderWith({}), 'colloquy.config.yaml')
    writeFileSync(place, text)
    await expect(readConfiguration({ file: place, env: {} })).rejects.toMatchObject({
      code: 'configuration/invalid',
      facts: { from: place, field: expect.stringContaining(field) },
    })
  })

  it('a configuration file takes the conversation block of TENEX with its names, and says which line is wrong', async () => {
    const seed = `conversation:
  # Session expiration (default: 24 hours)
  session_expiration: 24h
  cleanup_interval: 1h30m
  token_strategy: summarization
  max_tokens: 100000
  keep_recent_messages: 12
`
    const at = (text: string) => join(folderWith({ 'colloquy.config.yaml': text }), 'colloquy.config.yaml')
    expect(await readConfiguration({ file: at(seed), env: {} })).toEqual({
      sessionExpiresInMs: 86_400_000,
      sweepEveryMs: 5_400_000,
      requests: { budget: 100_000, strategy: { name: 'summarization', keepRecentMessages: 12 } },
    })
    const wrong = at(seed.replace('24h', 'a while'))
    await expect(readConfiguration({ file: wrong, env: {} })).rejects.toMatchObject({
      message: expect.stringContaining(`${wrong}:3: conversation.session_expiration`),
      facts: { line: 3 },
    })
    const unknown = at(`${seed}  max_tokns: 3\n`)
    await expect(readConfiguration({ file: unknown, env: {} })).rejects.toMatchObject({
      facts: { line: 8, nearest: 'max_tokens' },
    })
    const twice = at(`${seed}requests:\n  budget: 5\n`)
    await expect(readConfiguration({ file: twice, env: {} })).rejects.toThrow('keep one of them')
  })

  it('a configuration file may be JSON, may be empty, and may not exist twice', async () => {
    const json = join(
      folderWith({ 'colloquy.config.json': '{ "requests": { "budget": 7000 } }' }),
      'colloquy.config.json',
    )
    expect(await readConfiguration({ file: json, env: {} })).toEqual({ requests: { budget: 7000 } })
    const empty = join(folderWith({ 'colloquy.config.yaml': '# nothing yet\n' }), 'colloquy.config.yaml')
    expect(await readConfiguration({ file: empty, env: {} })).toEqual({})
    const twice = folderWith({ 'package.json': '{}', 'colloquy.config.yaml': '', 'colloquy.config.json': '{}' })
    const { stderr } = await runCli(['list'], { cwd: twice })
    expect(stderr).toContain('keep one')
    await expect(readConfiguration({ file: `${empty}.none`, env: {} })).rejects.toThrow('cannot be read')
  })

  it('an invalid variable of the environment is named', async () => {
    const env = { COLLOQUY_BUDGET: 'much' }
    const place = join(folderWith({ 'colloquy.config.yaml': '' }), 'colloquy.config.yaml')
    await expect(readConfiguration({ file: place, env })).rejects.toThrow(/^COLLOQUY_BUDGET: requests.budget: /)
  })

  it('a configuration file is read by the library only on request, and explicit options win', async () => {
    const place = join(folderWith({ 'colloquy.config.yaml': file }), 'colloquy.config.yaml')
    const memory = { store: 'sqlite::memory:', tokens: 'fast' } as const
    const { colloquy: asked } = await freshColloquy({ ...memory, configuration: place, requests: { budget: 5000 } })
    const { colloquy: silent } = await freshColloquy(memory)
    const budgets = []
    for (const { sessions } of [asked, silent]) {
      const { id } = await sessions.getOrCreateSession({ type: 'thread', agentType: 'dev', threadId: 't' })
      const { budget, strategy } = await sessions.previewRequest(id, 'Hello')
      budgets.push([budget, strategy])
    }
    expect(budgets).toEqual([
      [5000, 'sliding_window'],
      [100_000, 'checkpoint'],
    ])
  })
})
