/** Tools of agents in a worktree: inside of it, after reading, with permission. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Colloquy } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { expect, it } from 'vitest'
import type { AgentSettingsInput } from '../../../src/agents/runs/agent-settings.ts'
import { freshColloquy } from '../../support/colloquy.ts'
import { temporaryFolder } from '../../support/temporary.ts'

async function withDeveloper(agents: AgentSettingsInput = {}) {
  const root = temporaryFolder()
  const { colloquy } = await freshColloquy({
    root,
    agents: { ...agents, limits: { answerWithinMs: 1, ...agents.limits } },
  })
  const options = { type: 'task', agentType: 'dev', featureId: 'login', taskId: 't1' } as const
  const { id } = await colloquy.sessions.getOrCreateSession(options)
  return { colloquy, id, root }
}

type Call = [name: string, input: Record<string, unknown>]

/** Returns the outputs of tools that a model calls one after the other. */
async function outputsOf(colloquy: Colloquy, id: string, ...calls: Call[]): Promise<string[]> {
  const model = scriptedModel([...calls.map(([name, input]) => ({ calls: [{ name, input }] })), 'Done.'])
  const result = await colloquy.agents.run(id, { message: 'Go', model })
  expect(result.outcome).toBe('done')
  const messages = await colloquy.sessions.getAllMessages(id)
  return messages.flatMap(({ parts }) =>
    parts.flatMap(part => (part.type === 'tool-result' ? [String(part.output)] : [])),
  )
}

it('an agent has to read a file before it writes it', async () => {
  const { colloquy, id, root } = await withDeveloper()
  writeFileSync(join(root, 'page.ts'), 'export const colour = "red"\n')
  const outputs = await outputsOf(
    colloquy,
    id,
    ['write_file', { path: 'page.ts', content: 'x' }],
    ['edit_file', { path: 'page.ts', old: 'red', new: 'x' }],
    ['read_file', { path: 'page.ts' }],
    ['edit_file', { path: 'page.ts', old: '"red"', new: '"blue"' }],
    ['search_files', { text: 'colour' }],
    ['write_file', { path: 'new/deep.ts', content: 'export {}\n' }],
    ['list_files', {}],
  )
  expect(outputs[0]).toContain('has not read it')
  expect(outputs[1]).toContain('has not read it')
  expect(outputs[2]).toContain('"red"')
  expect(outputs[3]).toBe('Replaced one occurrence in page.ts.')
  expect(outputs[4]).toContain('page.ts:1:export const colour = "blue"')
  expect(outputs[5]).toContain('Wrote new/deep.ts')
  expect(outputs[6]).toContain('deep.ts')
  expect(readFileSync(join(root, 'page.ts'), 'utf8')).toBe('export const colour = "blue"\n')
})

it('an agent never leaves the worktree, by dots, absolute paths or links', async () => {
  const { colloquy, id, root } = await withDeveloper()
  const outside = temporaryFolder()
  writeFileSync(join(outside, 'secret'), 'secret')
  symlinkSync(outside, join(root, 'way-out'))
  symlinkSync(join(outside, 'fresh'), join(root, 'nowhere'))
  mkdirSync(join(root, '.git'))
  const outputs = await outputsOf(
    colloquy,
    id,
    ['read_file', { path: join(outside, 'secret') }],
    ['read_file', { path: 'way-out/secret' }],
    ['write_file', { path: 'way-out/new', content: 'x' }],
    ['write_file', { path: 'nowhere', content: 'x' }],
    ['write_file', { path: '.git/hooks/post-commit', content: 'x' }],
    ['list_files', { path: '..' }],
    ['search_files', { text: 'secret', path: 'way-out' }],
    ['search_files', { text: 'secret' }],
  )
  for (const output of outputs.slice(0, 7))
    expect(output).toMatch(/leads out of the project|leads nowhere|may not touch/)
  expect(outputs[7]).toBe('No line matches.')
})

it('an agent runs commands of the allow-list, asks for others, and has no shell', async () => {
  const { colloquy, id } = await withDeveloper({ commands: { dev: ['node -p'] } })
  const outputs = await outputsOf(
    colloquy,
    id,
    ['run_command', { command: 'node -p "6 * 7"' }],
    ['run_command', { command: 'node -e "process.exit(3)"' }],
    ['run_command', { command: 'node -p 1 && rm -rf x' }],
    ['run_command', { command: `node -p "'x'.repeat(100000)"` }],
  )
  expect(outputs[0]).toBe('42')
  expect(outputs[1]).toContain('nobody approved it in time')
  expect(outputs[2]).toContain('no shell')
  expect(outputs[3]!.length).toBeLessThan(31_000)
  expect(outputs[3]).toContain('characters left out')
})

it('a command of an agent that takes too long is ended, and gets no keys', async () => {
  const { colloquy, id } = await withDeveloper({ commands: { '*': ['*'] }, limits: { commandMs: 1000 } })
  process.env.EXAMPLE_API_KEY = 'key'
  const outputs = await outputsOf(
    colloquy,
    id,
    ['run_command', { command: 'node -e "setInterval(() => {}, 1000)"' }],
    ['run_command', { command: 'node -p "String(process.env.EXAMPLE_API_KEY)"', seconds: 60 }],
  )
  delete process.env.EXAMPLE_API_KEY
  expect(outputs[0]).toContain('The program was killed: it ran longer than 1 s.')
  expect(outputs[1]).toBe('undefined')
})

it('an agent looks at the repository and commits', async () => {
  const { colloquy, id, root } = await withDeveloper()
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'pipe' })
  git('init', '--quiet')
  git('config', 'user.email', 'dev@example.com')
  git('config', 'user.name', 'dev')
  const outputs = await outputsOf(
    colloquy,
    id,
    ['write_file', { path: 'a.txt', content: 'one\n' }],
    ['git_status', {}],
    ['git_commit', { message: 'Add a' }],
    ['edit_file', { path: 'a.txt', old: 'one', new: 'two' }],
    ['git_diff', {}],
    ['git_log', {}],
    ['git_diff', { since: '--no-index' }],
  )
  expect(outputs[1]).toContain('?? a.txt')
  expect(outputs[2]).toContain('Add a')
  expect(outputs[4]).toContain('+two')
  expect(outputs[5]).toContain('Add a')
  expect(outputs[6]).toContain('is not a commit')
})

it('an agent remembers: recall finds, expand shows, pin keeps', async () => {
  const { colloquy, id } = await withDeveloper()
  const { version } = await colloquy.sessions.addMessage(id, { role: 'user', content: 'The zebra colour is #123456' })
  const outputs = await outputsOf(
    colloquy,
    id,
    ['recall', { words: 'zebra' }],
    ['expand', { message: version }],
    ['pin', { text: 'Never use red.' }],
    ['pin', { message: version }],
    ['expand', { item: 'nothing' }],
  )
  expect(outputs[0]).toContain('#123456')
  expect(outputs[1]).toContain('The zebra colour is #123456')
  expect(outputs[2]).toContain('Pinned as message')
  expect(outputs[3]).toBe(`Pinned as message ${version}.`)
  expect(outputs[4]).toContain('nothing')
  const { ledger } = await colloquy.sessions.previewRequest(id, 'Next?', { strategy: { name: 'recent', messages: 1 } })
  expect(ledger.entries.filter(one => one.why === 'pinned')).toHaveLength(2)
})

it('an agent is shown only the tools it is allowed to use', async () => {
  const { colloquy } = await withDeveloper()
  const { id } = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'pm', featureId: 'login' })
  let names: string[] = []
  const model = scriptedModel(({ tools = [] }) => {
    names = tools.map(one => one.name)
    return 'Hello.'
  })
  await colloquy.agents.run(id, { message: 'Hello', model })
  expect(names).toContain('delegate')
  expect(names).not.toContain('write_file')
  expect(names).not.toContain('run_command')
})
