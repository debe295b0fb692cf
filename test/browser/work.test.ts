/** Features with their task graph, and beads: drawn, opened by mouse and keyboard, filtered, live. */
import { openColloquy } from 'colloquy'
import { describe, expect, it } from 'vitest'
import { visit } from '../support/pages/browser.ts'
import { demoServer } from '../support/pages/demo-server.ts'

describe('a task graph', () => {
  it('a task graph is drawn with its states and edges, and each task opens by mouse and by keyboard', async () => {
    const server = await demoServer()
    const { page } = await visit(server, { path: '/#/shop/work' })
    const graph = page.getByRole('region', { name: 'Task graph' })
    await graph.getByRole('button', { name: /^Sign in with a passkey ?, in dev/ }).waitFor()
    const { tasks } = await server.client.work.graph({ featureId: 'passkeys' })
    expect(await graph.getByRole('button').count()).toBe(tasks.length)
    const edges = tasks.reduce((sum, { dependencies }) => sum + dependencies.length, 0)
    expect(await graph.locator('.graph__edge').count()).toBe(edges)
    await graph.getByRole('button', { name: /^Rate limits/ }).click()
    const panel = page.locator('.work__task')
    await panel.getByRole('heading', { name: /Rate limits/ }).waitFor()
    expect(new URL(page.url()).hash).toContain('task=limits')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await panel.getByText('Verify the assertion').waitFor()
    await panel.getByRole('link', { name: /^dev/ }).waitFor()
    await panel.getByRole('link', { name: 'Open conversation' }).click()
    await page.waitForURL(/conversations/)
  })

  it('a task graph follows what another process does, without moving', async () => {
    const server = await demoServer()
    const { page } = await visit(server, { path: '/#/shop/work?feature=passkeys' })
    const task = page.locator('[data-task="sign-in"]')
    await task.waitFor()
    const before = await task.boundingBox()
    const other = await openColloquy({ store: server.store, project: 'shop', sweepEveryMs: null })
    await other.work.moveTask('passkeys', 'sign-in', 'dev_complete')
    await other.close()
    await page.getByRole('button', { name: /^Sign in with a passkey ?, dev complete/ }).waitFor()
    expect(await task.boundingBox()).toEqual(before)
  })

  it('a task graph says why a task is held', async () => {
    const server = await demoServer()
    const { page } = await visit(server, { path: '/#/shop/work?feature=checkout&task=address' })
    await page.getByText('The design of the address field is not decided').waitFor()
    const states = page.getByRole('group', { name: 'Show tasks by state' })
    await states.getByRole('button', { name: /^blocked/ }).click()
    expect(await page.locator('.graph__task--quiet').count()).toBe(3)
  })
})

describe('beads', () => {
  it('beads are listed by urgency, found by state and words, and follow changes', async () => {
    const server = await demoServer()
    const { page } = await visit(server, { path: '/#/shop/work?show=beads' })
    const rows = page.locator('.work__rows li')
    await rows.first().waitFor()
    expect(await rows.first().textContent()).toContain('Order list is slow')
    await page.getByLabel('Words').fill('sign-ins dev')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByLabel('Words').fill('')
    await page.getByLabel('State').selectOption('done')
    await expect.poll(() => rows.allTextContents()).toHaveLength(1)
    await server.client.work.moveBead({ beadId: 'b-101', body: { to: 'done' } })
    await page.getByText('Order list is slow').waitFor()
  })

  it('a page without beads explains them', async () => {
    const { freshServer: served } = await import('../support/server.ts')
    const server = await served()
    const { page } = await visit(server, { path: '/#/shop/work' })
    await page.getByText('No features yet').waitFor()
    await page.getByRole('tab', { name: 'Beads' }).click()
    await page.getByText('No bead is like that').waitFor()
  })
})
