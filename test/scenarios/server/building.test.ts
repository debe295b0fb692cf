/** A team set to work, followed and stopped over real HTTP. */
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { commit, repositoryWith, runGit } from '../../support/repository.ts'
import { freshServer } from '../../support/server.ts'
import { isGood, type Player, passes, writes } from '../../support/team.ts'

async function shopServer(players: Record<string, Player> = {}) {
  const root = repositoryWith({ 'README.md': 'A shop.\n' })
  runGit(root, 'checkout', '--quiet', '-b', 'main')
  commit(root, 'first')
  const all = { dev: writes('bad', 'good'), qa: passes, ...players }
  const models = Object.fromEntries(Object.entries(all).map(([name, player]) => [name, scriptedModel(player, name)]))
  const place = await freshServer({ open: { root, agents: { models }, work: { checks: { test: isGood } } } })
  await place.colloquy.work.addFeature({ featureId: 'f', name: 'Answers' })
  await place.colloquy.work.planTasks('f', { add: [{ taskId: 't', title: 'Answer' }] })
  return { ...place, root }
}

describe('a team over HTTP', () => {
  it('a team is started over HTTP, goes on by itself, reports as live events, and says where it stands', async () => {
    const { client, colloquy, root } = await shopServer()
    const moves: string[] = []
    const following = (async () => {
      for await (const update of colloquy.subscribe({ name: 'work:updated', from: 'now' })) {
        if (update.name !== 'work:updated' || update.action !== 'moved') continue
        moves.push(update.to)
        if (update.to === 'done') return
      }
    })()
    const begun = await client.building.run({ featureId: 'f', body: {} })
    expect(begun).toMatchObject({ featureId: 'f', state: 'in_progress', running: { holder: expect.any(String) } })
    await following
    expect(moves).toEqual([
      ...['in_progress', 'in_dev', 'dev_complete', 'in_qa', 'qa_complete', 'ready_for_merge', 'merged', 'done'],
    ])
    expect(await client.building.status({ featureId: 'f' })).toMatchObject({
      state: 'done',
      ended: { outcome: 'done' },
      tasks: [{ taskId: 't', state: 'merged', ralph: { iteration: 2 }, landing: { outcome: 'landed' } }],
      questions: [],
    })
    expect(runGit(root, 'show', 'main:answer.txt')).toBe('good\n')
  })

  it('a loop runs alone over HTTP, stops, and says what is wrong', async () => {
    const { client, colloquy } = await shopServer({ dev: writes('bad') })
    const ended = (async () => {
      for await (const { event } of colloquy.subscribe({ from: 'now' })) {
        if (event.event.type === 'ralph.ended') return event.event
      }
      return undefined
    })()
    await client.building.ralph({ featureId: 'f', taskId: 't', body: { limits: { iterations: 1 } } })
    expect(await ended).toMatchObject({ outcome: 'iteration_limit', iterations: 1 })
    await expect(client.building.run({ featureId: 'other', body: {} })).rejects.toMatchObject({ status: 404 })
    expect(await client.building.stop({ featureId: 'f', body: { reason: 'enough' } })).toMatchObject({
      state: 'stopped',
    })
    await expect(client.building.stop({ featureId: 'f', body: {} })).rejects.toMatchObject({ status: 409 })
  })
})
