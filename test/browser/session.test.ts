/** The session inspector: figures, the next request with its ledger, the checkpoint and where it came from, actions. */
import { readFileSync } from 'node:fs'
import { openColloquy } from 'colloquy'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { visit } from '../support/pages/browser.ts'
import { demoServer } from '../support/pages/demo-server.ts'

async function inspector(query = '', options = {}) {
  const server = await demoServer(options)
  const sessionId = server.demo.developerSessionId
  const { page, context } = await visit(server, {
    path: `/#/shop/sessions/${sessionId}${query}`,
    acceptDownloads: true,
  })
  await page.getByRole('heading', { level: 1, name: /^dev/ }).waitFor()
  return { ...server, page, context, sessionId }
}

const fact = (page: Page, name: string) =>
  page.locator('.facts > div', { has: page.locator('dt', { hasText: name }) }).locator('dd')

describe('the session inspector', () => {
  it('the session inspector shows status, counts, checkpoint and expiry, and follows what another process writes', async () => {
    const { page, sessionId, store, client } = await inspector()
    const { stats } = await client.sessions.get({ sessionId })
    expect(await fact(page, 'In its window').textContent()).toContain(`${stats.messages} messages`)
    expect(await fact(page, 'Checkpoint').textContent()).toMatch(/^2, up to version \d+/)
    const clock = () => Date.parse(stats.lastActivityAt!) + 1_000
    const other = await openColloquy({ store, project: 'shop', sweepEveryMs: null, clock })
    await other.sessions.addMessage(sessionId, { role: 'user', content: 'One more thing' })
    await other.close()
    await page
      .locator('.facts dd', { hasText: `${stats.messages + 1} messages` })
      .first()
      .waitFor()
  })

  it("the session inspector shows the budget by section up to the trigger, and no provider's figure that it cannot know", async () => {
    const { page, sessionId, client } = await inspector()
    const budget = page.getByRole('region', { name: 'Budget' })
    const { untilTrigger } = await client.sessions.metrics({ sessionId })
    await budget.getByText(`${untilTrigger.toLocaleString('en')} tokens until compaction`).waitFor()
    const legend = await budget.getByRole('list', { name: 'The budget by section' }).textContent()
    for (const section of ['Description', 'Checkpoint', 'Messages', 'This message', 'Free']) {
      expect(legend).toContain(section)
    }
    await budget.getByText('unknown until the next response').waitFor()
    const asked = await client.sessions.request({ sessionId, body: { message: 'And now?' } })
    await client.sessions.addMessage({
      sessionId,
      body: { role: 'assistant', content: 'This.', usage: { input: asked.totalTokens + 100, output: 5 } },
    })
    await budget.getByText('from what it counted last').waitFor()
  })

  it('the session inspector shows both renderings as they would be sent, and why each part is there', async () => {
    const { page, sessionId, client } = await inspector()
    await page.getByLabel('If the next message were').fill('Is the counter checked?')
    await page.getByText('Is the counter checked?').waitFor()
    const request = await client.sessions.preview({ sessionId, body: { message: 'Is the counter checked?' } })
    const shown = async () => (await page.locator('.piece').allTextContents()).join('').replace(/\s+/g, '')
    const asMessages = await shown()
    expect(asMessages).toContain(request.system.replace(/\s+/g, ''))
    await page.getByRole('button', { name: 'Two prompts' }).click()
    expect(await shown()).toBe((request.systemPrompt + request.userPrompt).replace(/\s+/g, ''))

    const why = page.getByRole('status').filter({ hasText: /·|Point at/ })
    await page.mouse.move(1, 1)
    await page.locator('.request__line', { hasText: 'summarised' }).hover()
    expect(await why.textContent()).toMatch(/summarised.*in checkpoint 2/)
    const line = page.locator('.request__line button', { hasText: 'Checkpoint' }).first()
    await line.focus()
    expect(await why.textContent()).toContain('stands for what it covers')
    expect(await page.locator('.piece--pointed').textContent()).toContain('Decision')
    await page.locator('.piece', { hasText: 'Is the counter checked?' }).focus()
    expect(await why.textContent()).toContain('the message this request is for')
  })

  it('the session inspector shows what is left out, and how many', async () => {
    const { page, sessionId, client } = await inspector()
    await client.sessions.configure({ sessionId, body: { budget: 2500, strategy: { name: 'sliding_window' } } })
    await page.reload()
    const line = page.locator('.request__line', { has: page.locator('.badge--bad') }).first()
    await page.mouse.move(1, 1)
    await line.hover()
    expect(await page.locator('.request__why').textContent()).toMatch(
      /left out\s*\d+ messages.*older than what the budget holds/,
    )
  })

  it('the session inspector shows the checkpoint by sections, what changed, and the messages behind each item', async () => {
    const { page, demo, sessionId, client } = await inspector()
    await page.getByRole('tab', { name: 'Checkpoint 2' }).click()
    await page.getByRole('region', { name: 'Goal' }).waitFor()
    const diff = await client.sessions.compareCheckpoints({ sessionId, first: 1, second: 2 })
    const added = () => page.locator('.checkpoint__item .badge--good', { hasText: 'new' }).count()
    await expect.poll(added).toBe(diff.added.length)
    expect(diff.added.length + diff.moved.length + diff.rewritten.length).toBeGreaterThan(0)
    const goal = page.getByRole('region', { name: 'Goal' })
    await goal.getByRole('button', { name: '1 source' }).click()
    const source = goal.locator('.checkpoint__sources')
    await source.getByText('Never log a credential').waitFor()
    const link = await source.getByRole('link').getAttribute('href')
    expect(link).toMatch(new RegExp(`conversations/${demo.taskConversationId}\\?v=\\d+$`))
    await page.getByLabel('Checkpoint', { exact: true }).selectOption('1')
    await page.getByText('compared with').waitFor({ state: 'detached' })
    await goal.getByRole('button', { name: '1 source' }).click()
    await source.getByRole('link').first().click()
    await page.getByRole('log', { name: 'Timeline' }).or(page.locator('.scroller')).first().waitFor()
    await page.getByText('Never log a credential').first().waitFor()
  })

  it('the session inspector can be used with the keyboard alone', async () => {
    const { page } = await inspector()
    const tab = page.getByRole('tab', { name: 'Next request' })
    await tab.focus()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('region', { name: 'Goal' }).waitFor()
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Checkpoint 2')
    await page.keyboard.press('ArrowLeft')
    await page.locator('.request__line button').first().focus()
    await page.keyboard.press('Tab')
    expect(await page.locator('.request__line--pointed').count()).toBe(1)
  })

  it('the session inspector shows a session as it was at a version', async () => {
    const { page, demo, client, sessionId, running } = await inspector()
    const events = await client.conversations.events({
      conversationId: demo.taskConversationId,
      query: { limit: 1000 },
    })
    const taken = events.items.filter(({ event }) => event.type === 'checkpoint.taken').map(({ version }) => version)
    await page.goto(`${running.url}/#/shop/sessions/${sessionId}?at=${taken[1]! - 1}`)
    await page.getByText(`as at version ${taken[1]! - 1}`).waitFor()
    await page.getByRole('tab', { name: 'Checkpoint 1' }).waitFor()
    await page.getByText('rendered again from its manifest').waitFor()
    // The slider is here, too, and what leads elsewhere stays in that time.
    await page.getByRole('button', { name: 'One version on' }).click()
    await page.getByText(`as at version ${taken[1]!}`).waitFor()
    await page.getByRole('tab', { name: 'Checkpoint 2' }).waitFor()
    expect(await page.locator('.session__head a').first().getAttribute('href')).toContain(`at=${taken[1]}`)
    await page.goto(`${running.url}/#/shop/sessions/${sessionId}?at=2`)
    await page
      .getByText(/was not there at version|none yet/)
      .first()
      .waitFor()
  })
})

describe('actions on a session', () => {
  it('actions on a session ask before they act, say what they do, and can be taken back where the engine can', async () => {
    const { page, sessionId, client } = await inspector()
    const act = async (name: string, confirm = name) => {
      await page.getByRole('button', { name, exact: true }).click()
      const dialog = page.getByRole('dialog')
      await dialog.waitFor()
      await dialog.getByRole('button', { name: confirm, exact: true }).click()
    }
    const status = async () => (await client.sessions.get({ sessionId })).status

    await page.getByRole('button', { name: 'Archive', exact: true }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await status()).toBe('active')

    await act('Archive')
    await page.getByText('dev is archived.').waitFor()
    expect(await status()).toBe('archived')
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(status).toBe('active')
    await act('Archive')
    await page.getByRole('button', { name: 'Reopen', exact: true }).click()
    await expect.poll(status).toBe('active')
    await page.getByRole('button', { name: 'Archive', exact: true }).waitFor()

    await page.keyboard.press('Control+k')
    await page.keyboard.type('compact now')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Compact', exact: true }).click()
    await page.getByText(/Checkpoint 3 stands for|nothing to compact/).waitFor()
    await act('Reset')
    await page.getByText('dev was reset.').waitFor()
    await act('Clear')
    await page.getByText('dev starts anew').waitFor()
    await page.locator('.facts dd', { hasText: '0 messages' }).first().waitFor()
    expect((await client.sessions.get({ sessionId })).stats.total.messages).toBeGreaterThan(50)
  })

  it('an action on a session exports the log as a file that can be verified', async () => {
    const { page, demo } = await inspector()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    expect(download.suggestedFilename()).toBe(`${demo.taskConversationId}.jsonl`)
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n')
    expect(lines.length).toBeGreaterThan(70)
    for (const line of lines) JSON.parse(line)
  })
})
