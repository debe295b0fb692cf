/** The conversation screen: what a timeline shows, as it is, as it was, and while it happens. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { heldModel } from '../support/held-model.ts'
import { accessibilityProblems, visit } from '../support/pages/browser.ts'
import { freshServer } from '../support/server.ts'
import { type Story, tellStory } from '../support/story.ts'

const sayProgram = join(import.meta.dirname, '..', 'support', 'processes', 'say.mjs')

async function withStory() {
  const server = await freshServer()
  const story = await tellStory(server.colloquy)
  return { server, story }
}

const addressOf = ({ conversationId }: Pick<Story, 'conversationId'>, query = '') =>
  `/#/shop/conversations/${conversationId}${query}`

describe('a conversation', () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    it(`a conversation shows everything that happened, without problems of accessibility (${colorScheme})`, async () => {
      const { server, story } = await withStory()
      const { page } = await visit(server, {
        path: addressOf(story),
        colorScheme,
        viewport: { width: 1280, height: 2400 },
      })
      const timeline = page.getByRole('region', { name: 'Timeline' })
      await timeline.getByText('The form is done:').waitFor()
      // 28 messages were in the window, 4 stay word for word.
      await timeline.getByText('28 → 4 messages').waitFor()
      await timeline.getByText('Branch: Login page with a magic link').waitFor()
      expect(await timeline.getByText('pinned', { exact: true }).count()).toBe(1)
      expect(await accessibilityProblems(page)).toEqual([])
      await timeline.evaluate(element => element.scrollTo(0, 0))
      await timeline.getByText('Phase: chat → plan, by pm').waitFor()
      await timeline.getByText('Turn 1 → dev').waitFor()
      await timeline.getByRole('article', { name: 'pm to dev, version 9' }).waitFor()
      await timeline.getByText('read_file').first().waitFor()
      expect(await timeline.locator('table').count()).toBe(1)
      expect(await accessibilityProblems(page)).toEqual([])
    })
  }

  it('a conversation unfolds reasoning, tool calls and their results, and the content of a checkpoint', async () => {
    const { server, story } = await withStory()
    const { page } = await visit(server, { path: addressOf(story), viewport: { width: 1280, height: 2400 } })
    const checkpoint = page.getByText('28 → 4 messages')
    await checkpoint.click()
    await page.getByText('Stands for versions', { exact: false }).waitFor()
    await page.getByTitle('Where it was said').first().click()
    await page.waitForURL(/[?&]v=\d+/)
    await page.locator('.message--meant').waitFor()
    await page.getByRole('region', { name: 'Timeline' }).evaluate(element => element.scrollTo(0, 0))
    await page.getByText('Reasoning', { exact: false }).first().click()
    await page
      .getByText('The session decides about the rest.', { exact: true })
      .or(page.getByText('Three pieces'))
      .first()
      .waitFor()
    await page
      .locator('.badge', { hasText: /^result$/ })
      .first()
      .click()
    await page.locator('pre', { hasText: '// to be done' }).waitFor()
  })

  it('a conversation shows messages of another process live, at the end and counted when the reader is elsewhere', async () => {
    const { server, story } = await withStory()
    const { page } = await visit(server, { path: addressOf(story) })
    await page.getByText('The checks pass: 14 of 14.').waitFor()
    const say = (content: string, times = 1) =>
      promisify(execFile)(process.execPath, [
        sayProgram,
        JSON.stringify({ store: server.store, conversationId: story.conversationId, content, times }),
      ])
    await say('Hello from elsewhere')
    await page.getByText('Hello from elsewhere 1').waitFor()
    await page.getByRole('region', { name: 'Timeline' }).evaluate(element => element.scrollTo(0, 0))
    await page.getByText('To the end').waitFor()
    await say('More', 3)
    await page.getByText('3 new').click()
    await page.getByText('More 3').waitFor()
  })

  it('a conversation is shown as it was at any version, in the address and by keyboard', async () => {
    const { server, story } = await withStory()
    const { page } = await visit(server, { path: addressOf(story) })
    await page.getByRole('button', { name: 'Actions', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Look back in time' }).click()
    const slider = page.getByRole('slider', { name: 'Version' })
    await slider.focus()
    await page.keyboard.press('Home')
    await page.waitForURL(/at=1(&|$)/)
    await page.getByText('Started in phase chat').waitFor()
    await expect.poll(() => page.getByText('The form is done').count()).toBe(0)
    await expect.poll(() => page.getByRole('textbox', { name: /^Message to/ }).count()).toBe(0)
    await expect.poll(() => page.locator('.conversation-header').textContent()).toContain('chat')
    for (let step = 0; step < 5; step++) await page.getByRole('button', { name: 'One version on' }).click()
    await page.waitForURL(/at=6(&|$)/)
    await page.getByText('Sessions in a cookie').waitFor()
    await expect.poll(() => page.locator('.conversation-header .badge--note').textContent()).toBe('plan')
    await page.reload()
    await page.getByText('v6 of 43').waitFor()
    // Branching is the only action offered for a past version.
    await page.getByRole('button', { name: 'Actions', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Branch here…' }).waitFor()
    expect(await page.getByRole('menuitem', { name: 'Archive…' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.getByText('The checks pass: 14 of 14.').waitFor()
  })

  it('a conversation shows a branch only from when it was made', async () => {
    const { server, story } = await withStory()
    const { version } = await server.colloquy.conversations.getConversation(story.conversationId)
    const made = (await server.colloquy.conversations.getConversation(story.branchId)).branchOf!.version
    const { page } = await visit(server, { path: addressOf(story, `?at=${version}`) })
    const branch = page.getByText('Branch: Login page with a magic link')
    await branch.waitFor()
    await page.goto(server.running.url + addressOf(story, `?at=${made}`))
    await page.getByText(`v${made} of`).waitFor()
    await branch.waitFor({ state: 'detached' })
    await page.getByText('never send a password by mail').waitFor()
  })

  it('a conversation says that a session is being compacted, after a reload too, and no longer when it failed', async () => {
    const model = heldModel('half', ' a summary that is none')
    const server = await freshServer({ open: { model } })
    const { sessions } = server.colloquy
    const session = await sessions.getOrCreateSession({ type: 'thread', threadId: 't', agentType: 'assistant' })
    for (const number of [1, 2, 3, 4]) {
      await sessions.addMessage(session.id, {
        role: 'user',
        content: `Number ${number}. ${'More words. '.repeat(100)}`,
      })
    }
    const { page } = await visit(server, { path: addressOf(session) })
    await page.getByText('Number 4.').waitFor()
    const outcome = sessions.forceCompact(session.id, { keep: { messages: 1 } })
    await page.getByText('compacting', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('compacting', { exact: true }).waitFor()
    model.goOn()
    expect(await outcome).toMatchObject({ outcome: 'failed' })
    await page.getByText('compacting', { exact: true }).waitFor({ state: 'detached' })
  })

  it('a conversation is walked message by message with j and k', async () => {
    const { server, story } = await withStory()
    const { page } = await visit(server, { path: addressOf(story, '?v=4') })
    await page.locator('.message--meant').waitFor()
    await page.getByRole('region', { name: 'Timeline' }).focus()
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-version'))
    await page.keyboard.press('j')
    const first = await focused()
    for (const key of ['j', 'j', 'k', 'k']) await page.keyboard.press(key)
    expect(await focused()).toBe(first)
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.closest('article')?.getAttribute('data-version'))).toBe(
      first,
    )
  })

  it('a conversation shows all events on demand, and says what is wrong with an address', async () => {
    const { server, story } = await withStory()
    const { page } = await visit(server, { path: addressOf(story, '?all=1') })
    await page.getByText('compaction of', { exact: false }).waitFor()
    const lost = await visit(server, { path: '/#/shop/conversations/nowhere', expects: /404/ })
    await lost.page.getByRole('alert').waitFor()
    expect(await lost.page.getByRole('alert').textContent()).toContain('nowhere')
  })
})
