/** A conversation as one agent will see it. */
import { expect, it } from 'vitest'
import { visit } from '../support/pages/browser.ts'
import { demoServer } from '../support/pages/demo-server.ts'

it('the agent view shows what came while the agent was away, what is left out, and the text it will read', async () => {
  const server = await demoServer()
  const { demo, client } = server
  const { conversationId } = demo
  const { page } = await visit(server, { path: `/#/shop/conversations/${conversationId}/view?agent=pm` })
  await page.getByText('3 messages came while it was away').waitFor()
  const view = await client.teams.previewView({ conversationId, body: { agent: 'pm', trigger: '' } })
  const shown = (await page.locator('.piece').allTextContents()).join('').replace(/\s+/g, '')
  expect(shown).toContain(view.system.replace(/\s+/g, ''))
  const block = page.locator('.piece', { hasText: 'Messages while you were away' })
  await block.focus()
  expect(await page.locator('.request__why').textContent()).toContain('while the agent was away')
  // Live: it is told of what comes now, too.
  await client.conversations.say({ conversationId, body: { role: 'user', author: 'owner', content: 'Also on phones' } })
  await page.getByText('4 messages came while it was away').waitFor()
  await page.locator('.piece', { hasText: 'Also on phones' }).waitFor()
})

it('the agent view shows the request of an agent that never joined, and records nothing', async () => {
  const server = await demoServer()
  const { demo, client } = server
  const { conversationId } = demo
  const { page } = await visit(server, { path: `/#/shop/conversations/${conversationId}/view` })
  const before = await client.conversations.get({ conversationId })
  await page.getByLabel('another').fill('auditor')
  await page.keyboard.press('Enter')
  await page.getByText('It has no session here yet').waitFor()
  await page.getByText('to it, all is history').waitFor()
  await page.locator('.piece', { hasText: 'passkey' }).first().waitFor()
  expect((await client.conversations.get({ conversationId })).version).toBe(before.version)
})

it('the agent view shows the request as it was at a version', async () => {
  const server = await demoServer()
  const { conversationId } = server.demo
  const { page } = await visit(server, { path: `/#/shop/conversations/${conversationId}/view?agent=pm&at=8` })
  await page.getByText('as at version 8').waitFor()
  await page.locator('.piece', { hasText: 'Keep the password' }).first().waitFor()
  expect(await page.locator('.piece', { hasText: 'counter that stands still' }).count()).toBe(0)
})
