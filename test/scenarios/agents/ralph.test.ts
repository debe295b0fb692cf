/** Ralph loops: each way they end, what each iteration is told, and how they go on. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isOfType } from 'colloquy'
import { team } from 'colloquy/building'
import { describe, expect, it } from 'vitest'
import { runGit } from '../../support/repository.ts'
import { calls, hasResult, iterationOf, promptOf, teamShop, write, writes } from '../../support/team.ts'

const task = { featureId: 'f', taskId: 't' }

async function eventsOf({ colloquy }: Pick<Awaited<ReturnType<typeof teamShop>>, 'colloquy'>) {
  const { conversationId } = await colloquy.work.stateOf({ type: 'task', ...task })
  return colloquy.conversations.getEvents(conversationId!)
}

describe('a Ralph loop', () => {
  it('a Ralph loop goes on until the checks pass; each iteration has a fresh request with the failures and the attempts', async () => {
    const requests: string[] = []
    const players = {
      dev: (request: Parameters<typeof promptOf>[0]) => {
        if (!hasResult(request)) requests.push(promptOf(request))
        return writes('bad', 'good')(request)
      },
    }
    const work = { checks: { test: 'cat answer.txt && grep -q good answer.txt' } }
    const place = await teamShop({ players, work })
    const loop = await team(place.colloquy).ralph(task, { onProgress: place.onProgress })
    expect(loop).toMatchObject({
      outcome: 'passed',
      iteration: 2,
      round: 1,
      passed: ['test'],
      failed: [],
      usage: { input: 400, output: 80 },
    })
    expect(requests).toHaveLength(2)
    expect(requests[0]).toContain('Iteration 1 of at most 10 on task t: Give a good answer')
    expect(requests[0]).toContain('answer.txt must say good.')
    expect(requests[1]).toContain('iteration 1 (failed: test): Done.')
    expect(requests[1]).toMatch(/The check test \(cat answer.txt .*\) failed with exit code 1:\n.*\nbad\n/)
    expect(requests[1]).not.toContain('Iteration 1 of')
    expect((await place.colloquy.work.getTask('f', 't')).state).toBe('dev_complete')
    const subjects = runGit(place.worktree, 'log', '--format=%s').trim().split('\n')
    expect(subjects).toEqual(['t: Give a good answer (iteration 2)', 't: Give a good answer (iteration 1)', 'first'])
  })

  it('a Ralph loop works in its worktree, and another checkout stays as it is', async () => {
    const elsewhere = calls(write('../../../outside.txt', 'x'), write('answer.txt', 'good\n'))
    const { colloquy, root, worktree } = await teamShop({ players: { dev: elsewhere } })
    expect((await team(colloquy).ralph(task)).outcome).toBe('passed')
    expect(existsSync(join(root, 'answer.txt'))).toBe(false)
    expect(existsSync(join(root, 'outside.txt'))).toBe(false)
    expect(readFileSync(join(worktree, 'answer.txt'), 'utf8')).toBe('good\n')
    expect(runGit(root, 'status', '--porcelain')).toBe('')
  })

  it('[P10] a Ralph loop appears in the requests of its session and in its checkpoints, by the log', async () => {
    const long = 'The answer is not there yet, and I will say why at length. '.repeat(300)
    const dev = (request: Parameters<typeof promptOf>[0]) =>
      hasResult(request) || promptOf(request).includes('And now?') ? long : writes('bad')(request)
    const { colloquy } = await teamShop({ players: { dev }, work: { limits: { iterations: 1 } } })
    const loop = await team(colloquy).ralph(task)
    const request = await colloquy.sessions.previewRequest(loop.sessionId, 'Where are we?')
    expect(`${request.systemPrompt}${request.userPrompt}`).toMatch(/## Ralph loop\n[\s\S]*failed: test\n- iteration 1/)
    await colloquy.agents.run(loop.sessionId, { message: 'And now?' })
    expect(await colloquy.sessions.forceCompact(loop.sessionId, { keep: { tokens: 0 } })).toMatchObject({
      outcome: 'taken',
    })
    const checkpoint = await colloquy.sessions.getCheckpoint(loop.sessionId)
    expect(checkpoint?.ralphLoop).toMatchObject({ currentIteration: 1, passedChecks: [], failedChecks: ['test'] })
  })
})

describe('a loop ends', () => {
  it('a Ralph loop ends at its limit of iterations', async () => {
    const place = await teamShop({
      players: { dev: request => writes(`bad ${iterationOf(request)}`)(request) },
      work: { limits: { iterations: 3 } },
    })
    expect(await team(place.colloquy).ralph(task)).toMatchObject({ outcome: 'iteration_limit', iteration: 3 })
    expect(await place.colloquy.work.getTask('f', 't')).toMatchObject({ state: 'failed', heldIn: 'in_dev' })
  })

  it('a Ralph loop ends at its limit of tokens', async () => {
    const dev = (request: Parameters<typeof promptOf>[0]) => writes(`bad ${iterationOf(request)}`)(request)
    const { colloquy } = await teamShop({ players: { dev } })
    const loop = await team(colloquy).ralph(task, { limits: { tokens: 400 } })
    expect(loop).toMatchObject({ outcome: 'token_limit', iteration: 2, usage: { input: 400, output: 80 } })
    expect(loop.reason).toContain('480 of 400 tokens')
  })

  it('a Ralph loop ends when iterations change nothing', async () => {
    const { colloquy } = await teamShop({ players: { dev: writes('bad') } })
    const loop = await team(colloquy).ralph(task, { limits: { unchanged: 2 } })
    expect(loop).toMatchObject({ outcome: 'no_progress', iteration: 3, reason: expect.stringContaining('test') })
  })

  it('a Ralph loop ends when its agent cannot be run', async () => {
    const dev = () => ({ failure: { kind: 'unauthorised' as const, message: 'The key is wrong.' } })
    const { colloquy } = await teamShop({ players: { dev } })
    expect(await team(colloquy).ralph(task)).toMatchObject({
      outcome: 'error',
      iteration: 0,
      reason: 'unauthorised: The key is wrong.',
    })
    expect((await colloquy.work.getTask('f', 't')).state).toBe('failed')
  })

  it('a Ralph loop ends when it is stopped, and resumes later with what was written by then', async () => {
    const stopping = new AbortController()
    const dev = (request: Parameters<typeof promptOf>[0]) => {
      if (iterationOf(request) === 2) stopping.abort()
      return writes('bad', 'worse', 'good')(request)
    }
    const place = await teamShop({ players: { dev } })
    const { colloquy } = place
    const stopped = await team(colloquy).ralph(task, { signal: stopping.signal })
    expect(stopped).toMatchObject({ outcome: 'aborted', iteration: 1 })
    expect((await colloquy.work.getTask('f', 't')).state).toBe('in_dev')
    const again = await team(colloquy).ralph(task)
    expect(again).toMatchObject({ outcome: 'passed', round: 2, iteration: 3 })
    const numbers = (await eventsOf(place)).flatMap(one => (isOfType(one, 'iteration.ended') ? [one.event.number] : []))
    expect(numbers).toEqual([1, 1, 2, 3])
  })

  it('a step that took too long for the agent is only the end of its iteration', async () => {
    const dev = (request: Parameters<typeof promptOf>[0]) =>
      iterationOf(request) === 1
        ? { calls: [{ name: 'list_files', input: {}, callId: crypto.randomUUID() }] }
        : writes('good')(request)
    const { colloquy } = await teamShop({ players: { dev }, agents: { maxSteps: 3 } })
    expect(await team(colloquy).ralph(task)).toMatchObject({ outcome: 'passed', iteration: 2 })
  })

  it('a Ralph loop without checks ends as passed when its agent says so', async () => {
    const { colloquy } = await teamShop({ work: { checks: {} } })
    expect(await team(colloquy).ralph(task)).toMatchObject({ outcome: 'passed', iteration: 1, checks: [] })
  })
})
