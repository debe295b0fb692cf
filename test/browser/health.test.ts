/** The health of the server, drawn from its own metrics. */
import { expect, it } from 'vitest'
import { visit } from '../support/pages/browser.ts'
import { demoServer } from '../support/pages/demo-server.ts'
import { freshSchema } from '../support/postgres.ts'
import { freshServer } from '../support/server.ts'

it('the health page shows subscribers, latencies, what was recorded and what runs, and refreshes by itself', async () => {
  const server = await demoServer()
  const { client, demo } = server
  const { page } = await visit(server, { path: '/#/shop/health' })
  const tile = (name: string) => page.getByRole('region', { name, exact: true })
  await expect.poll(() => tile('Subscribers').textContent()).toMatch(/Subscribers1/)
  for (let number = 0; number < 20; number++) {
    await client.sessions.addMessage({ sessionId: demo.developerSessionId, body: { role: 'user', content: 'x' } })
  }
  await client.sessions.compact({ sessionId: demo.developerSessionId, body: { keep: { messages: 2 } } })
  await client.operations.maintain()
  await expect.poll(() => tile('Appends').textContent(), { timeout: 15_000 }).toMatch(/≤ \d.*of 20/)
  await expect.poll(() => tile('Compactions').textContent(), { timeout: 15_000 }).toContain('3 done, 0 failed')
  await page.getByRole('region', { name: 'Events by type' }).getByText('message.added').waitFor()
  await page.getByRole('region', { name: 'Jobs' }).getByText('maintenance').waitFor()
  const nodes = page.getByRole('region', { name: 'Nodes' })
  await nodes.getByText(`${process.pid}`).waitFor()
  await nodes.getByText('this one').waitFor()
  expect(await nodes.getByRole('img').count()).toBe(2)
  await page.getByRole('region', { name: 'Projects' }).getByText('shop').waitFor()
  expect(await tile('Events').getByRole('img').getAttribute('aria-label')).toContain('Events')
})

it('the health page shows every server of a store on PostgreSQL, and forgets one that leaves', async () => {
  const { url } = await freshSchema()
  const server = await freshServer({ open: { store: url } })
  const other = await freshServer({ open: { store: url } })
  const { page } = await visit(server, { path: '/#/shop/health' })
  const nodes = page.getByRole('region', { name: 'Nodes' })
  await nodes.getByText('2 servers of this store').waitFor()
  expect(await nodes.getByText('this one').count()).toBe(1)
  await other.running.stop()
  await nodes.getByText('1 server of this store').waitFor()
})
