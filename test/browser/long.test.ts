/** A long conversation costs the page what a short one does: rows that are in sight, pages that were looked at. */
import type { Page } from 'playwright-core'
import { describe, expect, it, vi } from 'vitest'
import { visit } from '../support/pages/browser.ts'
import { longConversation } from '../support/pages/long-conversation.ts'
import { freshServer } from '../support/server.ts'

const rows = (page: Page) => page.locator('.scroller__row').count()
const settled = (page: Page) =>
  page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))))

describe('a conversation of 10,000 messages', () => {
  it('a conversation of 10,000 messages is scrolled through with few rows, jumped to, and keeps its place', async () => {
    const server = await freshServer()
    const id = await longConversation(server.colloquy, 10_000)
    const { page } = await visit(server, { path: `/#/shop/conversations/${id}` })
    await page.getByText('Message number 10000.').waitFor()
    const timeline = page.getByRole('region', { name: 'Timeline' })
    expect(await rows(page)).toBeLessThan(80)
    for (const share of [0.75, 0.5, 0.25, 0]) {
      await timeline.evaluate((element, at) => element.scrollTo(0, element.scrollHeight * at), share)
      await page.locator('.message').first().waitFor()
      expect(await rows(page)).toBeLessThan(80)
    }
    await page.getByText('Message number 1.', { exact: false }).first().waitFor()
    await page.goto(`${server.running.url}/#/shop/conversations/${id}?v=5001`)
    const meant = page.locator('.message--meant')
    await meant.getByText('Message number 5000.').waitFor()
    const before = await meant.boundingBox()
    // New messages at the end, and rows above that are loaded and measured, move nothing.
    await server.colloquy.conversations.addEvent(id, { role: 'user', content: 'Something new' })
    await page.getByText('new', { exact: false }).first().waitFor()
    await settled(page)
    expect((await meant.boundingBox())!.y).toBeCloseTo(before!.y, 0)
    await timeline.evaluate(element => element.scrollBy(0, -3000))
    const anchor = page.locator('.message').nth(6)
    // Rows of the place before stay until the next frame.
    const isThere = async () => expect(Number(await anchor.getAttribute('data-version'))).toBeLessThan(4990)
    await vi.waitFor(isThere, { timeout: 20_000 })
    const version = await anchor.getAttribute('data-version')
    const there = page.locator(`.message[data-version="${version}"]`)
    const place = (await there.boundingBox())!.y
    await settled(page)
    expect((await there.boundingBox())!.y).toBeCloseTo(place, 0)
  })
})
