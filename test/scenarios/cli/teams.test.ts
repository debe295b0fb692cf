/** The command line for teams: phase and turns. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cliOn } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'

async function conversation(options = {}) {
  const store = await freshColloquy(options)
  const { id } = await store.colloquy.conversations.createConversation({
    title: 'Login page',
    initial: { role: 'user', content: 'Build the login page' },
  })
  return Object.assign(store, { id, cli: cliOn(store.store) })
}

describe('colloquy phase', () => {
  it('colloquy phase shows where a conversation is, how it got there and where it may go', async () => {
    const { colloquy, id, cli } = await conversation()
    const said = { reason: 'the plan stands', summary: 'Three tasks', agent: 'planner' }
    await colloquy.conversations.transitionPhase(id, { to: 'execute', ...said })
    const [text, json] = await Promise.all([cli('phase', id), cli('phase', id, '--json')])
    expect(text).toMatchObject({ exitCode: 0, stderr: '' })
    expect(text.stdout).toMatch(
      /^Login page\nphase +execute\nsince .*\nmay go to +verification, chat\nhanded over +Three tasks\n/,
    )
    expect(text.stdout).toMatch(/chat +execute +planner +the plan stands\n$/)
    expect(json.json()).toMatchObject({
      conversationId: id,
      phase: 'execute',
      legal: ['verification', 'chat'],
      history: [{ from: 'chat', to: 'execute', ...said }],
    })
  })

  it('colloquy phase moves a conversation, says when it is there already, and refuses with the legal phases', async () => {
    const { colloquy, id, cli } = await conversation()
    const moved = await cli('phase', id, '--to', 'plan', '--reason', 'enough talk', '--expect', 'chat')
    expect(moved).toMatchObject({ exitCode: 0, stderr: '' })
    expect(moved.stdout).toBe('"Login page" went from chat to plan.\nmay go to  chat, brainstorm, execute\n')
    expect((await cli('phase', id, '--to', 'plan')).stdout).toContain('was in plan already')
    const refused = await cli('phase', id, '--to', 'chores', '--json')
    expect(refused.exitCode).toBe(1)
    expect(refused.error()).toMatchObject({
      code: 'phase/refused',
      facts: { legal: ['chat', 'brainstorm', 'execute'] },
    })
    expect(await cli('phase', id, '--to', 'chat', '--expect', 'chat')).toMatchObject({ exitCode: 1 })
    const [change] = (await colloquy.conversations.getPhaseHistory(id)).items
    expect(change).toMatchObject({ to: 'plan', reason: 'enough talk', actor: expect.stringMatching(/./) })
  })

  it("colloquy phase takes a project's own phases from a file", async () => {
    const { id, cli, folder } = await conversation()
    const file = join(folder, 'phases.json')
    writeFileSync(file, JSON.stringify({ initial: 'chat', phases: { chat: { to: ['done'] }, done: { to: [] } } }))
    expect((await cli('phase', id, '--to', 'done', '--phases', file)).stdout).toContain('went from chat to done')
    expect(await cli('phase', id, '--phases', join(folder, 'none.json'))).toMatchObject({ exitCode: 2 })
    expect((await cli('phase', id, '--to', 'chat', '--phases', 'none')).stderr).toContain('no phases')
  })

  it('colloquy phase explains itself, and what is wrong with a call', async () => {
    const { id, cli } = await conversation()
    const [help, odd, none] = await Promise.all([
      cli('phase', '--help'),
      cli('phase', id, '--reason', 'x'),
      cli('phase', 'nowhere'),
    ])
    expect(help.stdout).toContain('$ colloquy phase ID --to execute')
    expect(odd).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--to PHASE') })
    expect(none).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('not-found') })
  })
})

describe('colloquy turns', () => {
  it('colloquy turns shows turns newest first, with completions and the agents that are awaited', async () => {
    const { colloquy, id, cli } = await conversation()
    const { conversations } = colloquy
    await conversations.startOrchestratorTurn(id, { agents: ['dev'], reason: 'the form first' })
    await conversations.addCompletionToTurn(id, { agent: 'dev', message: 'Form is\ndone \u001b[31m' })
    await conversations.startOrchestratorTurn(id, { agents: ['qa', 'pm'], reason: 'look at it', phase: 'execute' })
    const [text, json, page, context] = await Promise.all([
      cli('turns', id),
      cli('turns', id, '--json'),
      cli('turns', id, '--limit', '1', '--json'),
      cli('turns', id, '--context'),
    ])
    expect(text).toMatchObject({ exitCode: 0, stderr: '' })
    expect(text.stdout).toMatch(
      /^Login page: 2 turns\n\nTurn 2 → qa, pm {2}open {2}#\d+ · .* · execute\n {2}look at it\n {2}… qa, pm\n\nTurn 1 → dev {2}completed {2}.*\n {2}the form first\n {2}✓ dev: Form is/,
    )
    expect(text.stdout).not.toContain('\u001b')
    expect(json.json()).toMatchObject({
      count: 2,
      loop: null,
      next: null,
      turns: [{ status: 'open' }, { status: 'completed' }],
    })
    const rest = await cli('turns', id, '--cursor', String(page.json().next), '--json')
    expect(rest.json()).toMatchObject({ turns: [{ number: 1 }] })
    expect(Object.keys(context.json())).toEqual(['user_request', 'routing_history', 'current_routing'])
  })

  it('colloquy turns lets a person undo the newest and clear a loop', async () => {
    const { colloquy, id, cli } = await conversation({ turns: { loops: { repeats: 2 } } })
    const { conversations } = colloquy
    const turn = { agents: ['dev'], reason: 'fix the form' }
    await conversations.startOrchestratorTurn(id, turn)
    await conversations.addCompletionToTurn(id, { agent: 'dev', message: 'done' })
    await expect(conversations.startOrchestratorTurn(id, turn)).rejects.toThrow()
    const blocked = await cli('turns', id)
    expect(blocked.stderr).toMatch(/^Routing is blocked since version \d+: .* --clear-loop lets it go on.\n$/)
    expect((await cli('turns', id, '--json')).json()).toMatchObject({ loop: { kind: 'same-route' } })
    expect((await cli('turns', id, '--clear-loop', '--reason', 'seen')).stdout).toMatch(/^Routing may go on/)
    expect((await cli('turns', id, '--clear-loop')).stdout).toBe('Routing was not blocked.\n')
    expect((await cli('turns', id, '--undo', '--reason', 'no')).stdout).toBe('Turn 1, to dev, is undone.\n')
    const cleared = (await conversations.getEvents(id)).find(({ event }) => event.type === 'loop.cleared')
    expect(cleared).toMatchObject({ channel: 'cli', event: { reason: 'seen' } })
    await conversations.startOrchestratorTurn(id, turn)
  })

  it('colloquy turns explains itself, and what is wrong with a call', async () => {
    const { id, cli } = await conversation()
    const [help, odd, both, nothing] = await Promise.all([
      cli('turns', '--help'),
      cli('turns', id, '--reason', 'x'),
      cli('turns', id, '--undo', '--clear-loop'),
      cli('turns', id, '--undo'),
    ])
    expect(help.stdout).toContain('$ colloquy turns ID --context')
    expect([odd.exitCode, both.exitCode, nothing.exitCode]).toEqual([2, 2, 1])
  })
})
