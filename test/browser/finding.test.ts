/** Getting around: a project's page, search and palette, by keyboard alone. */
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { accessibilityProblems, visit } from '../support/pages/browser.ts'
import { freshServer } from '../support/server.ts'
import { tellStory } from '../support/story.ts'
import { temporaryFolder } from '../support/temporary.ts'

describe("a project's page", () => {
  it("a project's page lists its conversations with what is in them, live", async () => {
    const server = await freshServer()
    await tellStory(server.colloquy)
    const { page } = await visit(server)
    const list = page.getByRole('list', { name: 'Conversations' })
    await list.getByText('Login page', { exact: true }).waitFor()
    expect(await list.getByRole('listitem').count()).toBe(2)
    await server.colloquy.conversations.createConversation({ title: 'Just begun' })
    await list.getByText('Just begun').waitFor()
    expect(await list.getByRole('listitem').first().textContent()).toContain('Just begun')
    await page.getByLabel('Type').selectOption('feature')
    await list.getByText('Just begun').waitFor({ state: 'detached' })
  })

  it("a project's page keeps its theme when one was chosen", async () => {
    const server = await freshServer()
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
})

describe('an empty project', () => {
  it('an empty project offers the demo, which builds a feature while one watches, in a project of its own', async () => {
    const server = await freshServer({ configuration: { root: temporaryFolder() } })
    const { page } = await visit(server)
    await page.getByRole('heading', { name: 'shop is empty' }).waitFor()
    await page.getByRole('button', { name: 'Start the demo' }).click()
    await page.waitForURL(/#\/till\/work\?feature=coupons/)
    await page.getByText('is at work on').first().waitFor()
    const graph = page.getByRole('region', { name: 'Task graph' })
    await graph.getByRole('button', { name: /^Read a coupon ?, in dev/ }).waitFor()
    await graph.getByRole('button', { name: /^Read a coupon ?, merged/ }).waitFor({ timeout: 60_000 })
    // It is stopped, and set to work again.
    await page.getByRole('button', { name: 'Stop…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('heading', { name: /^Coupons stopped/ }).waitFor()
    await page.getByRole('button', { name: 'Go on…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Set to work' }).click()
    // From the graph to the words, while they are said.
    await page.getByRole('link', { name: /is at work on Take a coupon/ }).click()
    await page.getByRole('article', { name: /^dev/ }).first().waitFor()
    expect(await server.colloquy.stats()).toMatchObject({ conversations: 0 })
  })

  it('an empty project offers an example, which is written and shown', async () => {
    const server = await freshServer()
    const { page } = await visit(server)
    await page.getByRole('button', { name: 'Write the example' }).click()
    await page.getByRole('heading', { name: 'Example: a login page' }).waitFor()
    await page.getByText('Looks good. Ship it on Friday.').waitFor()
  })

  it('an empty project says to a reader without the right to write that there is nothing to begin with', async () => {
    const server = await freshServer()
    const { token } = server.book.add({ name: 'reader', scope: 'read', projects: ['shop'] })
    // As a proxy in front does that knows who is who.
    const extraHTTPHeaders = { authorization: `Bearer ${token}` }
    const { page } = await visit(server, { isStranger: true, path: '/#/shop', extraHTTPHeaders })
    await page.getByText('You may only read here').waitFor()
    for (const name of ['Start the demo', 'New chat', 'Write the example']) {
      expect(await page.getByRole('button', { name }).isDisabled()).toBe(true)
    }
    expect(await page.getByLabel('Choose a file').isDisabled()).toBe(true)
  })

  it('an empty project begins with a first chat, by keyboard alone', async () => {
    const server = await freshServer({ open: { agents: { model: scriptedModel('Good day.') } } })
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
  it('search is reached with /, walked with arrows, and opens a message in its place', async () => {
    const server = await freshServer()
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

  it('search shows the best first, and more where there are more, by button and by arrows', async () => {
    const server = await freshServer()
    const { conversations } = server.colloquy
    const { id } = await conversations.createConversation({ title: 'Many words' })
    for (let number = 0; number < 130; number++) {
      await conversations.addEvent(id, { role: 'user', content: `Number ${number} of the needles` })
    }
    const { page } = await visit(server, { path: '/#/shop/search?q=needles' })
    const found = page.getByRole('listbox', { name: 'Found' }).getByRole('option')
    await expect.poll(() => found.count()).toBe(50)
    await page.getByRole('button', { name: 'Show more' }).click()
    await expect.poll(() => found.count()).toBe(100)
    await page.getByRole('combobox', { name: 'Search shop' }).focus()
    for (let step = 0; step < 13; step++) await page.keyboard.press('PageDown')
    await expect.poll(() => found.count()).toBe(130)
    await page.getByText('That is all.').waitFor()
  })
})

describe('the palette', () => {
  it('the palette goes to a conversation by a few letters, and runs the actions of the place', async () => {
    const server = await freshServer()
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

  it('the palette follows changes while it is open, keeps what is chosen, and closes on navigation', async () => {
    const server = await freshServer()
    const story = await tellStory(server.colloquy)
    const { page } = await visit(server, { path: `/#/shop/conversations/${story.conversationId}` })
    await page.goto(`${server.running.url}/#/shop`)
    await page.getByRole('list', { name: 'Conversations' }).getByText('Login page', { exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('page')
    const options = page.getByRole('listbox', { name: 'Choices' }).getByRole('option')
    await options.filter({ hasText: 'Login page' }).first().waitFor()
    await page.keyboard.press('ArrowDown')
    const chosen = page.getByRole('dialog').getByRole('option', { selected: true })
    const before = await chosen.textContent()
    await server.colloquy.conversations.createConversation({ title: 'page' })
    await options.filter({ hasText: /^page/ }).waitFor()
    expect(await chosen.textContent()).toBe(before)
    await page.goBack()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('The checks pass: 14 of 14.').waitFor()
  })

  it('the palette finds conversations that are too many to be listed', async () => {
    const server = await freshServer()
    const { conversations } = server.colloquy
    await conversations.createConversation({ title: 'The needle of long ago' })
    for (let number = 0; number < 210; number++) await conversations.createConversation({ title: `Straw ${number}` })
    const { page } = await visit(server)
    await page.getByText('Straw 209').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('needle')
    await page.getByRole('option', { name: /The needle of long ago/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'The needle of long ago' }).waitFor()
  })
})
