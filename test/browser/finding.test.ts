/** Getting around: a project's page, search and palette, by keyboard alone. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { accessibilityProblems, visit } from '../support/browser.ts'
import { served } from '../support/server.ts'
import { tellStory } from '../support/story.ts'

describe("a project's page", () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    it(`lists its conversations with what is in them, live (${colorScheme})`, async () => {
      const server = await served()
      await tellStory(server.colloquy)
      const { page } = await visit(server, { colorScheme })
      const list = page.getByRole('list', { name: 'Conversations' })
      await list.getByText('Login page', { exact: true }).waitFor()
      expect(await list.getByRole('listitem').count()).toBe(2)
      await server.colloquy.conversations.createConversation({ title: 'Just begun' })
      await list.getByText('Just begun').waitFor()
      expect(await list.getByRole('listitem').first().textContent()).toContain('Just begun')
      await page.getByLabel('Type').selectOption('feature')
      await list.getByText('Just begun').waitFor({ state: 'detached' })
      expect(await accessibilityProblems(page)).toEqual([])
    })
  }

  it('keeps its theme when one was chosen', async () => {
    const server = await served()
    const { page } = await visit(server, { colorScheme: 'light' })
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const light = await ground()
    await page.getByRole('button', { name: /^Theme: system/ }).click()
    await page.getByRole('button', { name: /^Theme: light/ }).click()
    const dark = await ground()
    expect(dark).not.toBe(light)
    await page.reload()
    await page.getByRole('button', { name: /^Theme: dark/ }).waitFor()
    expect(await ground()).toBe(dark)
  })

  it('fits a small screen, without scrolling sideways', async () => {
    const server = await served()
    const story = await tellStory(server.colloquy)
    for (const path of ['/#/shop', `/#/shop/conversations/${story.conversationId}`, '/#/shop/search?q=form']) {
      const { page } = await visit(server, { path, viewport: { width: 360, height: 640 } })
      await page
        .getByText(/form|Login/)
        .first()
        .waitFor()
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
      expect(await accessibilityProblems(page)).toEqual([])
    }
  })
})

describe('an empty project', () => {
  it('offers an example, which is written and shown', async () => {
    const server = await served()
    const { page } = await visit(server)
    await page.getByRole('heading', { name: 'shop is empty' }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.getByRole('button', { name: 'Write the example' }).click()
    await page.getByRole('heading', { name: 'Example: a login page' }).waitFor()
    await page.getByText('Looks good. Ship it on Friday.').waitFor()
    await page.getByText('messages', { exact: false }).first().waitFor()
  })

  it('takes a file along', async () => {
    const server = await served()
    const file = join(server.folder, 'chat.json')
    writeFileSync(file, JSON.stringify({ title: 'Old chat', messages: [{ role: 'user', content: 'Long ago' }] }))
    const { page } = await visit(server)
    await page.getByLabel('Choose a file').setInputFiles(file)
    await page.getByRole('heading', { name: 'Old chat' }).waitFor()
    await page.getByText('Long ago').waitFor()
  })

  it('begins with a first chat, by keyboard alone', async () => {
    const server = await served({ open: { agents: { model: scriptedModel('Good day.') } } })
    const { page } = await visit(server)
    await page.getByRole('heading', { name: 'shop is empty' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('new chat')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'New chat' }).waitFor()
    await page.keyboard.type('A first word')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'A first word' }).waitFor()
    await page.locator('textarea:focus').waitFor()
    await page.keyboard.type('Hello')
    await page.keyboard.press('Enter')
    await page.getByText('Good day.').waitFor()
  })
})

describe('search', () => {
  it('is reached with /, walked with arrows, and opens a message where it was said', async () => {
    const server = await served()
    await tellStory(server.colloquy)
    const { page } = await visit(server)
    await page.getByText('Login page', { exact: true }).first().waitFor()
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Search shop' }).waitFor()
    await page.keyboard.type('case')
    await page.locator('mark', { hasText: 'case' }).first().waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    const chosen = page.getByRole('listbox', { name: 'Found' }).getByRole('option', { selected: true })
    const version = (await chosen.locator('.numbers').textContent())!.slice(1)
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`v=${version}`))
    await page.locator(`.message--meant[data-version="${version}"]`).waitFor()
    await page.goBack()
    await page.locator('mark').first().waitFor()
    await page.getByLabel('Author').fill('nobody')
    await page.getByText('Nothing was found').waitFor()
  })
})

describe('the palette', () => {
  it('goes to a conversation by a few letters, and does what can be done there', async () => {
    const server = await served()
    await tellStory(server.colloquy)
    const { page } = await visit(server)
    await page.getByText('Login page', { exact: true }).first().waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('magic')
    await page.getByRole('option', { name: /magic/ }).first().waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Login page with a magic link' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('rename')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Rename' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })
})
