/** The demo in a store that is served: started over HTTP, once at a time, in a project that holds nothing else. */
import { join } from 'node:path'
import type { Client } from 'colloquy/client'
import { connect } from 'colloquy/client'
import { describe, expect, it } from 'vitest'
import { freshSchema } from '../../support/postgres.ts'
import { runGit } from '../../support/repository.ts'
import { freshServer } from '../../support/server.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const quick = { project: 'till', body: { paceMs: 0 } }

async function demoEnd(client: Client): Promise<void> {
  const jobs = async () => (await client.operations.jobs()).items.filter(({ name }) => name === 'demo')
  await expect.poll(async () => (await jobs()).map(({ isRunning }) => isRunning), { timeout: 300_000 }).toEqual([false])
  expect(await jobs()).toMatchObject([{ project: 'till', runs: 1, lastOutcome: { outcome: 'done' } }])
}

// On PostgreSQL: the demo of the command line runs on SQLite.
describe('the demo on PostgreSQL', { timeout: 600_000 }, () => {
  it('the demo is started once however often it is requested, and builds its feature in the served store', async () => {
    const root = temporaryFolder()
    const { url: store } = await freshSchema()
    const { client, colloquy } = await freshServer({ open: { store }, configuration: { root } })
    const asked = await Promise.allSettled([client.demo.start(quick), client.demo.start(quick)])
    const [started] = asked.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
    const refused = asked.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
    expect(started).toMatchObject({ project: 'till', featureId: 'coupons', state: 'in_progress' })
    expect(refused).toMatchObject([{ status: 409, message: expect.stringContaining('under way already') }])
    await demoEnd(client)
    const graph = await client.work.graph({ project: 'till', featureId: 'coupons' })
    expect(graph.tasks.map(({ state }) => state)).toEqual(['merged', 'merged', 'merged'])
    expect(runGit(started!.folder, 'log', '--oneline', 'main').trim().split('\n').length).toBeGreaterThan(3)
    expect(started!.folder.startsWith(join(root, '.colloquy'))).toBe(true)
    expect(await colloquy.as({ project: 'till' }).verify()).toMatchObject({ clean: true })
    expect(await client.demo.start(quick)).toMatchObject({ state: 'done' })
    const status = await client.building.status({ project: 'till', featureId: 'coupons' })
    expect(status).toMatchObject({ state: 'done', ended: { outcome: 'done' } })
    expect(await colloquy.stats()).toMatchObject({ conversations: 0 })
  })
})

describe('the demo', () => {
  it('the demo is refused in a folder or project that holds something else, without a folder, and to a token without the scope to run programs', async () => {
    const { client, running, book } = await freshServer({ configuration: { root: temporaryFolder() } })
    const refusal = (project: string) => client.demo.start({ project, body: { paceMs: 0 } }).catch(error => error)
    expect(await refusal('shop')).toMatchObject({
      status: 409,
      message: expect.stringContaining('has a folder of its own'),
    })
    await client.conversations.create({ project: 'bank', body: { title: 'Mine' } })
    expect(await refusal('bank')).toMatchObject({
      status: 409,
      message: expect.stringContaining('has other work'),
    })
    for (const scope of ['read', 'write'] as const) {
      const { token } = book.add({ name: scope, scope, projects: 'all' })
      const other = connect({ url: running.url, token, project: 'till' })
      await expect(other.demo.start({})).rejects.toMatchObject({ status: 403 })
    }
    const homeless = await freshServer()
    await expect(homeless.client.demo.start({ project: 'till' })).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining('no folder'),
    })
  })
})
