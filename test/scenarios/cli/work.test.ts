/** The command line for work items: feature, task, bead. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cliOn } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'

async function plannedFeature() {
  const store = await freshColloquy()
  const { work } = store.colloquy
  await work.addFeature({
    featureId: 'login',
    name: 'Login page',
    goal: 'People can log in',
    spec: '# Login\nOne form.',
  })
  await work.planTasks('login', {
    add: [
      { taskId: 'schema', title: 'Tables' },
      { taskId: 'api', title: 'Endpoints', dependencies: ['schema'] },
      { taskId: 'form', title: 'Login form', dependencies: ['api'], description: 'Name, password, one button.' },
      { taskId: 'docs', title: 'Documentation', dependencies: ['api', 'form'] },
      { taskId: 'style', title: 'Styles' },
      { taskId: 'e2e', title: 'End to end', dependencies: ['form', 'style', 'schema'] },
    ],
  })
  return Object.assign(store, { work, cli: cliOn(store.store) })
}

describe('colloquy feature', () => {
  it('colloquy feature adds a feature under an id made of its name, lists and shows it', async () => {
    const { folder, store } = await freshColloquy()
    const cli = cliOn(store)
    const spec = join(folder, 'spec.md')
    writeFileSync(spec, '# Log-in\nOne form.\n')
    const added = await cli('feature', 'add', 'Página de Log-in!', '--goal', 'In', '--spec', spec, '--priority', '1')
    expect(added).toMatchObject({ exitCode: 0, stdout: 'Added feature pagina-de-log-in: Página de Log-in!\n' })
    expect((await cli('feature', 'add', '!!')).stderr).toContain('--id')
    expect(await cli('feature', 'add', 'Página de Log-in')).toMatchObject({ exitCode: 1 })
    const [list, show, json] = await Promise.all([
      cli('feature', 'list'),
      cli('feature', 'show', 'pagina-de-log-in'),
      cli('feature', 'show', 'pagina-de-log-in', '--json'),
    ])
    expect(list.stdout).toMatch(/^ID +P +STATE +TASKS +NAME +ACTIVE\npagina-de-log-in +1 +planning +0 +Página/)
    expect(show.stdout).toMatch(/^Página de Log-in! {2}planning\nid +pagina-de-log-in\n/)
    expect(show.stdout).toContain('# Log-in\nOne form.\n\nNo tasks are planned.\n')
    expect(json.json()).toMatchObject({ goal: 'In', spec: '# Log-in\nOne form.\n', graph: { tasks: [] } })
  })

  it('colloquy feature moves a feature, and names the legal states when a move is illegal', async () => {
    const { cli } = await plannedFeature()
    expect((await cli('feature', 'move', 'login', 'in_progress')).stdout).toBe('login is in_progress.\n')
    const refused = await cli('feature', 'move', 'login', 'merged', '--json')
    expect(refused.error()).toMatchObject({ code: 'work/move-refused', facts: { legal: expect.any(Array) } })
    expect((await cli('feature', 'list', '--state', 'in_progress', '--json')).json()).toMatchObject({
      items: [{ featureId: 'login', tasks: 6 }],
    })
  })
})

describe('colloquy task', () => {
  it('colloquy task draws the graph: each task below those it needs, its state next to it', async () => {
    const { work, cli } = await plannedFeature()
    for (const state of ['in_dev', 'dev_complete', 'in_qa', 'qa_complete', 'ready_for_merge', 'merged'] as const) {
      await work.moveTask('login', 'schema', state)
    }
    await work.moveTask('login', 'api', 'in_dev')
    const { stdout } = await cli('task', 'graph', 'login')
    expect(stdout.split('\n')).toEqual([
      'Login page  planning',
      '●       schema  merged    Tables',
      '├─╮',
      '│ ◐     api     in_dev    Endpoints',
      '│ ├─╮',
      '│ │ ○   form    planning  Login form',
      '│ ├─┤',
      '│ ○ │   docs    planning  Documentation',
      '│   │ ◇ style   ready     Styles',
      '├───┴─╯',
      '○       e2e     planning  End to end',
      '6 tasks: 1 merged, 1 in_dev, 4 planning. Ready: style. form waits for api; docs waits for api and form; e2e waits for form and style.',
      '',
    ])
    expect((await cli('task', 'graph', 'login', '--json')).json()).toMatchObject({ ready: ['style'] })
  })

  it('colloquy task names dependencies where lines would fill the screen', async () => {
    const { work, cli } = await plannedFeature()
    const many = Array.from({ length: 40 }, (_, index) => ({ taskId: `t${index}`, title: `Number ${index}` }))
    await work.addFeature({ featureId: 'wide', name: 'Wide' })
    await work.planTasks('wide', {
      add: [...many, { taskId: 'all', title: 'All', dependencies: many.map(one => one.taskId) }],
    })
    const { stdout } = await cli('task', 'graph', 'wide')
    expect(stdout).toContain('All ← t0, t1,')
    expect(stdout).not.toContain('├')
  })

  it('colloquy task adds, changes, removes and moves tasks, and says what is wrong', async () => {
    const { cli } = await plannedFeature()
    const added = await cli('task', 'add', 'login', 'reset', 'Reset password', '--depends-on', 'api', 'form')
    expect(added.stdout).toContain('Planned task reset. 7 tasks')
    const circle = await cli('task', 'change', 'login', 'schema', '--depends-on', 'e2e')
    expect(circle).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('schema → e2e → form → api → schema') })
    expect((await cli('task', 'change', 'login', 'reset', '--title', 'Forgotten')).stdout).toContain(
      'Changed task reset',
    )
    expect((await cli('task', 'remove', 'login', 'reset')).stdout).toContain('Removed task reset. 6 tasks')
    const early = await cli('task', 'move', 'login', 'form', 'in_dev')
    expect(early.stderr).toContain('waits for api (planning)')
    expect((await cli('task', 'move', 'login', 'style', 'in_dev', '--reason', 'go')).stdout).toBe('style is in_dev.\n')
    expect((await cli('task', 'move', 'login', 'style', 'in_qa')).stderr).toContain('Legal are: dev_complete')
    const show = await cli('task', 'show', 'login', 'style')
    expect(show.stdout).toMatch(/^Styles {2}in_dev\ntask +style of login\nconversation .*\nsince .* go\n/)
    expect((await cli('task', 'show', 'login', 'nothing')).stderr).toContain('There is no task "nothing"')
  })

  it('colloquy task creates the feature, and the store, when a first task is planned', async () => {
    const { folder } = await freshColloquy()
    const cli = cliOn(`sqlite:${join(folder, 'new', 'colloquy.db')}`)
    expect((await cli('task', 'add', 'shop', 'cart', 'The cart')).stdout).toContain('Ready: cart.')
    expect((await cli('task', 'list')).stdout).toMatch(/shop +cart +2 +ready +The cart/)
  })

  it('colloquy task lists tasks of one feature or of all, by state or those that may begin', async () => {
    const { cli } = await plannedFeature()
    const ids = async (...args: string[]) =>
      ((await cli('task', 'list', ...args, '--json')).json().items as Array<{ taskId: string }>).map(one => one.taskId)
    expect(await ids('login', '--ready')).toEqual(['schema', 'style'])
    expect(await ids('--state', 'planning')).toHaveLength(6)
    expect(await cli('task', 'list', '--state', 'nowhere')).toMatchObject({ exitCode: 2 })
  })

  it('colloquy task tells the story of a task in its timeline', async () => {
    const { work, cli } = await plannedFeature()
    await work.moveTask('login', 'style', 'in_dev')
    await work.moveTask('login', 'style', 'blocked', { reason: 'no designer' })
    const { conversationId } = await work.getTask('login', 'style')
    const { stdout } = await cli('timeline', conversationId!)
    expect(stdout).toMatch(/work +planning → in_dev\n/)
    expect(stdout).toMatch(/work +in_dev → blocked: no designer\n/)
    const feature = await work.getFeature('login')
    expect((await cli('timeline', feature.conversationId)).stdout).toMatch(/planned +6 added\n/)
  })
})

describe('colloquy bead', () => {
  const issue = (id: string, more: object = {}) =>
    JSON.stringify({ id, title: `Issue ${id}`, status: 'open', priority: 2, issue_type: 'task', ...more })

  it('colloquy bead adds, lists, shows and moves beads', async () => {
    const { store } = await freshColloquy()
    const cli = cliOn(store)
    await cli('bead', 'add', 'Parser', '--id', 'b-1', '--kind', 'bug', '--label', 'models', 'json')
    await cli('bead', 'add', 'Retry', '--id', 'b-2', '--depends-on', 'b-1', '--priority', '0')
    expect((await cli('bead', 'list')).stdout).toMatch(/\nb-2 +0 +open +Retry +1 .*\nb-1 +2 +open +bug +Parser +0 /)
    expect((await cli('bead', 'list', '--ready', '--json')).json()).toMatchObject({ items: [{ title: 'Parser' }] })
    expect((await cli('bead', 'show', 'b-2')).stdout).toMatch(/waits for +b-1 {2}Parser \(open\)/)
    expect((await cli('bead', 'move', 'b-2', 'in_progress')).stderr).toContain('waits for b-1 (open)')
    expect((await cli('bead', 'move', 'b-1', 'done', '--reason', 'was easy')).stdout).toBe('b-1 is done.\n')
    expect((await cli('bead', 'show', 'b-1')).stdout).toContain('was easy')
    expect(await cli('bead', 'list', '--ready', '--state', 'open')).toMatchObject({ exitCode: 2 })
  })

  it("colloquy bead takes over a project's issues once, names what it cannot read, and has a dry run", async () => {
    const { store, folder, colloquy } = await freshColloquy()
    const cli = cliOn(store)
    const file = join(folder, 'issues.jsonl')
    const lines = [
      issue('b-2', { dependencies: [{ issue_id: 'b-2', depends_on_id: 'b-1', type: 'blocks' }] }),
      issue('b-1', { status: 'closed', close_reason: 'fixed' }),
      issue('b-3', { comments: [{ id: 7, author: 'ana', text: 'Seen it too' }] }),
      'broken',
    ]
    writeFileSync(file, lines.join('\n'))
    const dry = await cli('bead', 'import', file, '--dry-run')
    expect(dry).toMatchObject({ exitCode: 0, stdout: '3 beads would be imported.\n', stderr: 'line 4: is not JSON\n' })
    expect((await cli('bead', 'import', file)).stdout).toBe('3 beads imported.\n')
    expect((await cli('bead', 'import', file, '--json')).json()).toMatchObject({ imported: 0, known: 3 })
    expect(await colloquy.work.getBead('b-1')).toMatchObject({ state: 'done', move: { reason: 'fixed' } })
    expect(await colloquy.work.getBead('b-2')).toMatchObject({ state: 'open', waitsFor: [] })
    const { conversationId } = await colloquy.work.getBead('b-3')
    const messages = await colloquy.conversations.getMessages(conversationId)
    expect(messages.map(({ author, content }) => [author, content])).toEqual([['ana', 'Seen it too']])
    expect(await colloquy.verify()).toMatchObject({ clean: true })
  })
})
