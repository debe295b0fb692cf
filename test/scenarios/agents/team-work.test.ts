/** A team on a feature: review, merge, leave, stopping, and what a person has to do in between. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openColloquy } from 'colloquy'
import { type TeamProgress, team } from 'colloquy/building'
import { LeaseHeld, NotFound, RepositoryMissing } from 'colloquy/errors'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { commit, folderWith, runGit, write as writeFiles } from '../../support/repository.ts'
import { calls, hasResult, type Player, promptOf, teamShop, write, writes } from '../../support/team.ts'

const main = (root: string, path: string) => runGit(root, 'show', `main:${path}`)
const review = (verdict: string, feedback: string) => calls({ name: 'review', input: { verdict, feedback } })

describe('a team', () => {
  it('a team takes the tasks of a feature in the order of their dependencies, one after the other, to the base branch', async () => {
    const dev: Player = request => {
      const [, id] = /on task (\w+):/.exec(promptOf(request)) ?? []
      return calls(write(`${id}.txt`, 'good\n'))(request)
    }
    const { colloquy, root, worktree, told, onProgress } = await teamShop({
      players: { dev },
      tasks: [
        { taskId: 'c', title: 'C', dependencies: ['b'] },
        { taskId: 'b', title: 'B', dependencies: ['a'] },
        { taskId: 'a', title: 'A' },
      ],
      work: { checks: { test: 'ls *.txt' } },
    })
    expect(await team(colloquy).run('f', { onProgress })).toMatchObject({
      outcome: 'done',
      tasks: [{ state: 'merged' }, { state: 'merged' }, { state: 'merged' }],
    })
    const merged = told.flatMap(one => (one.type === 'task' && one.to === 'merged' ? [one.taskId] : []))
    expect(merged).toEqual(['a', 'b', 'c'])
    expect(readFileSync(join(root, 'c.txt'), 'utf8')).toBe('good\n')
    expect(existsSync(worktree)).toBe(false)
    expect((await colloquy.work.getFeature('f')).state).toBe('done')
    expect((await colloquy.verify()).clean).toBe(true)
  })

  it('a team without a plan has its PM plan; when no plan comes of it, the reason is in the words of the PM', async () => {
    const planned = await teamShop({
      tasks: [],
      players: { pm: calls({ name: 'plan_tasks', input: { tasks: [{ id: 't', title: 'Answer' }] } }) },
    })
    expect(await team(planned.colloquy).run('f')).toMatchObject({ outcome: 'done', tasks: [{ taskId: 't' }] })
    const silent = await teamShop({ tasks: [], players: { pm: () => 'What is an answer?' } })
    expect(await team(silent.colloquy).run('f')).toMatchObject({
      outcome: 'waiting',
      reason: 'nothing was planned: What is an answer?',
    })
  })

  it('a team needs a feature and a repository, before any model is called', async () => {
    const { colloquy } = await teamShop()
    await expect(team(colloquy).run('other')).rejects.toThrow(NotFound)
    const folder = folderWith({})
    const elsewhere = await openColloquy({
      ...{ store: 'sqlite::memory:', project: 'x', root: folder, sweepEveryMs: null },
      agents: { model: scriptedModel(() => Promise.reject(new Error('asked'))) },
    })
    await elsewhere.work.addFeature({ featureId: 'f', name: 'F' })
    await expect(team(elsewhere).run('f')).rejects.toThrow(RepositoryMissing)
    expect((await elsewhere.work.getFeature('f')).state).toBe('planning')
    await elsewhere.close()
  })

  it('a team prepares its worktrees by the commands of the project, once each', async () => {
    const setup = ['echo ready >> "$(git rev-parse --git-dir)/made"', 'touch made.local']
    const { colloquy, worktree } = await teamShop({
      files: { '.gitignore': '*.local\n' },
      work: { setup, checks: { test: 'ls made.local answer.txt' } },
      players: { qa: () => 'Hm.' },
    })
    expect((await team(colloquy).run('f')).outcome).toBe('stuck')
    await team(colloquy).run('f', { retries: true })
    expect(runGit(worktree, 'rev-parse', '--git-dir').trim()).toContain('worktrees')
    const own = runGit(worktree, 'rev-parse', '--absolute-git-dir').trim()
    expect(readFileSync(join(own, 'made'), 'utf8')).toBe('ready\n')
  })
})

describe('QA', () => {
  it('QA sends work back with feedback, which every later iteration gets', async () => {
    const seen: string[] = []
    const dev: Player = request => {
      if (!hasResult(request)) seen.push(promptOf(request))
      return writes(promptOf(request).includes('It must be polite') ? 'good, please' : 'good')(request)
    }
    const qa: Player = request =>
      (promptOf(request).includes('+good, please') ? review('pass', 'Fine.') : review('return', 'It must be polite.'))(
        request,
      )
    const { colloquy, root } = await teamShop({ players: { dev, qa } })
    expect((await team(colloquy).run('f')).outcome).toBe('done')
    expect(seen).toHaveLength(2)
    expect(seen[1]).toMatch(/A review sent the work back[\s\S]*It must be polite\./)
    expect(main(root, 'answer.txt')).toBe('good, please\n')
    expect((await team(colloquy).status('f')).tasks[0]).toMatchObject({
      state: 'merged',
      ralph: { round: 2 },
      review: { number: 2, verdict: 'pass' },
    })
  })

  it('QA may give its verdict in words that hold one, and is asked once more when they do not', async () => {
    const words = await teamShop({
      players: { qa: () => 'I think so:\n```json\n{"verdict": "approved", feedback: "ok"}\n```' },
    })
    expect((await team(words.colloquy).run('f')).outcome).toBe('done')
    let times = 0
    const late = await teamShop({ players: { qa: () => (++times === 1 ? 'Nice.' : '{"verdict":"pass"}') } })
    expect((await team(late.colloquy).run('f')).outcome).toBe('done')
    const never = await teamShop({ players: { qa: () => 'Nice.' } })
    expect(await team(never.colloquy).run('f')).toMatchObject({ outcome: 'stuck', reason: 't is blocked' })
    expect((await team(never.colloquy).status('f')).tasks[0]!.reason).toContain('without a verdict')
  })

  it('QA that returns a task again and again leaves it to a person, who resumes it', async () => {
    let isContent = false
    const qa: Player = request => (isContent ? review('pass', '') : review('return', 'No.'))(request)
    const { colloquy } = await teamShop({ players: { qa }, work: { returns: 2 } })
    expect(await team(colloquy).run('f')).toMatchObject({ outcome: 'stuck' })
    expect((await team(colloquy).status('f')).tasks[0]).toMatchObject({ state: 'blocked', review: { number: 2 } })
    expect(await team(colloquy).run('f')).toMatchObject({ outcome: 'stuck' })
    isContent = true
    expect(await team(colloquy).run('f', { retries: true })).toMatchObject({ outcome: 'done' })
  })
})

describe('a merge', () => {
  /** Commits to main while QA looks at the work. */
  const meanwhile = (root: () => string, files: Record<string, string>): Player => {
    let isDone = false
    return request => {
      if (!isDone) {
        writeFiles(root(), files)
        commit(root(), 'meanwhile')
      }
      isDone = true
      return review('pass', '')(request)
    }
  }

  const resolves: Player = request => {
    const { name, input } = { name: 'read_file', input: { path: 'answer.txt' } }
    const edit = { name: 'edit_file', input: { path: 'answer.txt', old: '<<<<<<<', new: '<<<<<<<' } }
    const text = request.messages
      .flatMap(({ content }) => content.flatMap(part => (part.type === 'tool-result' ? [part.text] : [])))
      .find(one => one.includes('<<<<<<<'))
    if (!text) return calls({ name, input })(request)
    edit.input.old = text
    edit.input.new = 'good from both\n'
    return calls({ name, input }, edit)(request)
  }

  it('a merge with conflicts goes to the merging agent; what it decides is checked and merged', async () => {
    let root = ''
    const qa = meanwhile(() => root, { 'answer.txt': 'good by somebody else\n' })
    const place = await teamShop({ players: { qa, merge: resolves } })
    root = place.root
    const result = await team(place.colloquy).run('f', { onProgress: place.onProgress })
    expect(result).toMatchObject({ outcome: 'done' })
    expect(place.told).toContainEqual({ type: 'conflicts', taskId: 't', files: ['answer.txt'] })
    expect(main(root, 'answer.txt')).toBe('good from both\n')
    expect(readFileSync(join(root, 'answer.txt'), 'utf8')).toBe('good from both\n')
  })

  it('a merge that cannot be made leaves base and branch as they were, and says so', async () => {
    let root = ''
    const qa = meanwhile(() => root, { 'answer.txt': 'good by somebody else\n' })
    const place = await teamShop({ players: { qa, merge: () => 'I cannot.' } })
    root = place.root
    expect(await team(place.colloquy).run('f')).toMatchObject({ outcome: 'stuck', reason: 't is blocked' })
    expect(main(root, 'answer.txt')).toBe('good by somebody else\n')
    expect(runGit(root, 'status', '--porcelain')).toBe('')
    expect((await team(place.colloquy).status('f')).tasks[0]).toMatchObject({
      state: 'blocked',
      landing: { outcome: 'conflicted', conflicts: ['answer.txt'] },
    })
  })

  it('a merge whose checks fail is fixed by the merging agent, or not made', async () => {
    const checks = { test: 'test -f answer.txt && ! test -f rule.txt || grep -q ruled answer.txt' }
    const fixes: Player = calls(
      { name: 'read_file', input: { path: 'answer.txt' } },
      { name: 'edit_file', input: { path: 'answer.txt', old: 'good', new: 'good, ruled' } },
    )
    for (const [merge, outcome] of [
      [fixes, 'done'],
      [() => 'I cannot.', 'stuck'],
    ] as Array<[Player, string]>) {
      let root = ''
      const place = await teamShop({
        players: { qa: meanwhile(() => root, { 'rule.txt': '' }), merge },
        work: { checks },
      })
      root = place.root
      const before = () => runGit(root, 'log', '-1', '--format=%s', 'main').trim()
      expect(await team(place.colloquy).run('f')).toMatchObject({ outcome })
      if (outcome === 'done') expect(main(root, 'answer.txt')).toBe('good, ruled\n')
      else {
        expect(before()).toBe('meanwhile')
        expect((await team(place.colloquy).status('f')).tasks[0]!.landing).toMatchObject({ outcome: 'checks_failed' })
      }
    }
  })

  it('a merge waits for a person whose checkout of the base has changes, and is found when that person merged it', async () => {
    const { colloquy, root } = await teamShop()
    writeFiles(root, { 'README.md': 'in the middle of something\n' })
    const result = await team(colloquy).run('f')
    expect(result).toMatchObject({ outcome: 'waiting', reason: expect.stringContaining('merge --ff-only') })
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toBe('in the middle of something\n')
    expect((await colloquy.work.getTask('f', 't')).state).toBe('ready_for_merge')
    const { commit: made } = (await team(colloquy).status('f')).tasks[0]!.landing!
    runGit(root, 'checkout', '--quiet', 'README.md')
    runGit(root, 'merge', '--quiet', '--ff-only', made!)
    expect(await team(colloquy).run('f')).toMatchObject({ outcome: 'done' })
    expect(runGit(root, 'rev-parse', 'main').trim()).toBe(made)
  })
})

describe('leave', () => {
  const wants: Player = calls(
    { name: 'run_command', input: { command: 'touch made.txt' } },
    write('answer.txt', 'good\n'),
  )
  const answers = (told: readonly TeamProgress[]) => told.flatMap(one => (one.type === 'approval' ? [one.answer] : []))

  it.each([
    ['yes', true],
    ['no', false],
  ] as const)('permission is given by the policy of the project: %s', async (approvals, isMade) => {
    const { colloquy, told, onProgress, worktree } = await teamShop({
      players: { dev: wants, qa: () => 'Hm.' },
      work: { approvals },
    })
    await team(colloquy).run('f', { onProgress })
    expect(answers(told)).toEqual([approvals])
    expect(existsSync(join(worktree, 'made.txt'))).toBe(isMade)
  })

  it('permission is given by the harness, an agent of its own, or left by it to a person', async () => {
    const decide = (answer: string) => calls({ name: 'decide', input: { answer, reason: 'Not here.' } })
    const { colloquy, told, onProgress, worktree } = await teamShop({
      players: { dev: wants, qa: () => 'Hm.', harness: decide('no') },
      work: { approvals: 'agent' },
    })
    await team(colloquy).run('f', { onProgress })
    expect(answers(told)).toEqual(['Not here.'])
    expect(existsSync(join(worktree, 'made.txt'))).toBe(false)
    const left = await teamShop({
      players: { dev: wants, qa: () => 'Hm.', harness: decide('person') },
      work: { approvals: 'agent' },
    })
    const running = team(left.colloquy).run('f')
    const asked = await questionIn(left.colloquy)
    await left.colloquy.agents.answer(asked.id, 'yes')
    await running
    expect(existsSync(join(left.worktree, 'made.txt'))).toBe(true)
  })
})

async function questionIn({ agents }: Awaited<ReturnType<typeof teamShop>>['colloquy']) {
  for (;;) {
    const [found] = await agents.questions()
    if (found) return found
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

describe('a team at work', () => {
  it('a team is alone on its feature, stops when a caller anywhere says so, and resumes', async () => {
    let isStopped = false
    const place = await teamShop({ work: { leaseMs: 300 } })
    const other = await openColloquy({
      store: place.store,
      project: 'shop',
      root: place.root,
      sweepEveryMs: null,
      tokens: 'fast',
      clock: place.now,
    })
    const qa = scriptedModel(async request => {
      if (!isStopped) {
        isStopped = true
        await expect(team(other).run('f')).rejects.toThrow(LeaseHeld)
        expect((await team(other).status('f')).running).toBeDefined()
        await team(other).stop('f', 'lunch')
        await new Promise<void>(resolve => request.signal?.addEventListener('abort', () => resolve(), { once: true }))
      }
      return review('pass', '')(request)
    }, 'qa')
    const dev = scriptedModel(writes('good'), 'dev')
    const models = { dev, qa }
    const colloquy = await openColloquy({
      ...{
        store: place.store,
        project: 'shop',
        root: place.root,
        sweepEveryMs: null,
        tokens: 'fast',
        clock: place.now,
      },
      ...{ agents: { models }, work: { checks: { test: 'grep -q good answer.txt' }, leaseMs: 300 } },
    })
    expect(await team(colloquy).run('f')).toMatchObject({ outcome: 'stopped' })
    expect(await colloquy.work.getFeature('f')).toMatchObject({ state: 'stopped', move: { reason: 'lunch' } })
    expect((await team(colloquy).status('f')).running).toBeUndefined()
    await expect(team(other).stop('f')).rejects.toThrow('no team works on it')
    expect(await team(colloquy).run('f')).toMatchObject({ outcome: 'done' })
    await Promise.all([colloquy.close(), other.close()])
  })

  it('a team stops by its signal, and says so in the log', async () => {
    const stopping = new AbortController()
    const place = await teamShop()
    const onProgress = (progress: TeamProgress) => {
      if (progress.type === 'iteration-start') stopping.abort()
    }
    expect(await team(place.colloquy).run('f', { signal: stopping.signal, onProgress })).toMatchObject({
      outcome: 'stopped',
    })
    expect(await place.colloquy.work.getFeature('f')).toMatchObject({
      state: 'stopped',
      attempts: { last: { outcome: 'aborted' } },
    })
    expect(await team(place.colloquy).run('f')).toMatchObject({ outcome: 'done' })
  })

  it('a team ends with its store, and resumes when that is opened again', async () => {
    const place = await teamShop()
    let closing: Promise<void> | undefined
    const result = await team(place.colloquy).run('f', {
      onProgress(progress) {
        if (progress.type === 'iteration-start') closing ??= place.colloquy.close()
      },
    })
    await closing
    expect(result).toMatchObject({ outcome: 'stopped', tasks: [{ state: 'in_dev' }] })
    expect(await team(await place.reopen()).run('f')).toMatchObject({ outcome: 'done' })
  })
})
