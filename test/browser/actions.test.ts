/** Actions on a conversation and its messages: confirmed first, undone where the engine allows it. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { visit } from '../support/pages/browser.ts'
import { freshServer } from '../support/server.ts'
import { tellStory } from '../support/story.ts'

async function onStory() {
  const server = await freshServer()
  const story = await tellStory(server.colloquy)
  const { page } = await visit(server, { path: `/#/shop/conversations/${story.conversationId}` })
  await page.getByText('The checks pass: 14 of 14.').waitFor()
  const conversation = () => server.colloquy.conversations.getConversation(story.conversationId)
  return { server, story, page, conversation }
}

async function choose(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Actions', exact: true }).click()
  await page.getByRole('menuitem', { name }).click()
}

const confirm = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true }).click()

describe('actions on a conversation', () => {
  it('the page archives a conversation after asking, and undo restores it', async () => {
    const { page, conversation } = await onStory()
    await choose(page, 'Archive…')
    await confirm(page, 'Cancel')
    expect((await conversation()).status).toBe('active')
    await choose(page, 'Archive…')
    await confirm(page, 'Archive')
    await page.getByText('is archived, so it is read-only').waitFor()
    expect((await conversation()).status).toBe('archived')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('textbox', { name: /^Message to/ }).waitFor()
    expect((await conversation()).status).toBe('active')
  })

  it('the page completes a conversation with a summary and reopens it where it is read-only', async () => {
    const { page, conversation } = await onStory()
    await choose(page, 'Complete…')
    await page.getByLabel('What came of it').fill('The page is there')
    await confirm(page, 'Complete')
    await page.getByText('is completed, so it is read-only').waitFor()
    expect(await conversation()).toMatchObject({ status: 'completed', summary: 'The page is there' })
    await page.getByRole('button', { name: 'Reopen', exact: true }).click()
    await page.getByRole('textbox', { name: /^Message to/ }).waitFor()
  })

  it('the page renames a conversation, changes its phase and takes both back', async () => {
    const { page, conversation } = await onStory()
    await choose(page, 'Rename…')
    await page.getByLabel('Title').fill('The login page')
    await confirm(page, 'Rename')
    await page.getByRole('heading', { name: 'The login page' }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('heading', { name: 'Login page', exact: true }).waitFor()
    await choose(page, 'Change phase…')
    await page.getByRole('combobox', { name: 'Next phase' }).selectOption('verification')
    await confirm(page, 'Change')
    await page.getByText('Phase: execute → verification').waitFor()
    expect((await conversation()).phase).toBe('verification')
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await page.getByText('Phase: verification → execute').waitFor()
  })

  it('the page pins a message, and branches at it', async () => {
    const { page, server } = await onStory()
    const message = page.getByRole('article').filter({ hasText: 'The form is done:' })
    const open = () => message.getByRole('button', { name: /^Actions on message/ }).click()
    await open()
    await page.getByRole('menuitem', { name: 'Pin' }).click()
    await message.getByText('pinned', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await message.getByText('pinned', { exact: true }).waitFor({ state: 'detached' })
    await open()
    await page.getByRole('menuitem', { name: 'Branch here…' }).click()
    await page.getByLabel('Title of the branch').fill('Another way')
    await confirm(page, 'Branch')
    await page.getByRole('heading', { name: 'Another way' }).waitFor()
    await page.getByText('Branch, from version 38 of another conversation').waitFor()
    const { items } = await server.colloquy.conversations.listConversations()
    const branch = items.find(({ title }) => title === 'Another way')!
    expect(branch.branchOf?.version).toBe(38)
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await page.getByRole('heading', { name: 'Login page', exact: true }).waitFor()
    expect((await server.colloquy.conversations.getConversation(branch.id)).status).toBe('archived')
  })

  it('the page takes the conclusion of a branch to its parent, and takes back a turn', async () => {
    const { page, server, story, conversation } = await onStory()
    await server.colloquy.conversations.startOrchestratorTurn(story.conversationId, {
      agents: ['dev'],
      reason: 'Too early',
      instruction: 'Begin',
    })
    await page.getByText('Turn 2 → dev').waitFor()
    await choose(page, 'Take back the last turn…')
    await page.getByLabel('Why').fill('not yet')
    await confirm(page, 'Take back')
    await page.getByText('Taken back.').waitFor()
    await page.goto(`${server.running.url}/#/shop/conversations/${story.branchId}`)
    await page.getByRole('heading', { name: 'Login page with a magic link' }).waitFor()
    await choose(page, 'Merge into its parent…')
    await page.getByLabel(/^Conclusion/).fill('A link is enough')
    await confirm(page, 'Merge')
    await page.getByText('Its conclusion stands in the parent now.').waitFor()
    const [last] = await server.colloquy.conversations.getMessages((await conversation()).id, { limit: 1 })
    expect(last?.content).toContain('A link is enough')
  })

  it('the page exports a conversation as a file', async () => {
    const { page, story } = await onStory()
    const download = page.waitForEvent('download')
    await choose(page, 'Export')
    expect((await download).suggestedFilename()).toBe(`${story.conversationId}.jsonl`)
  })

  it('the page acknowledges a loop', async () => {
    const { page, server, story } = await onStory()
    const { conversations } = server.colloquy
    const route = () =>
      conversations.startOrchestratorTurn(story.conversationId, {
        agents: ['dev'],
        reason: 'again',
        instruction: 'again',
      })
    let blocked: unknown
    for (let turn = 0; turn < 12 && blocked === undefined; turn++) {
      await route().then(
        () => conversations.addCompletionToTurn(story.conversationId, { agent: 'dev', message: 'the same' }),
        error => {
          blocked = error
        },
      )
    }
    expect(blocked).toBeDefined()
    await page.getByRole('button', { name: 'Acknowledge…' }).click()
    await page.getByLabel('Why').fill('it is fine')
    await confirm(page, 'Acknowledge')
    await page.getByText('Loop acknowledged').waitFor()
    await route()
  })
})
