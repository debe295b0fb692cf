/** Imported files: archives of Colloquy, chats, sessions of other programs; all of it, or a note of what is missing. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { visit } from '../support/pages/browser.ts'
import { type FreshServer, freshServer } from '../support/server.ts'
import { tellStory } from '../support/story.ts'

const lines = (...values: unknown[]) => values.map(value => JSON.stringify(value)).join('\n')

function bring({ folder }: FreshServer, page: Page, name: string, content: string | Buffer, label = 'Choose a file') {
  const file = join(folder, name)
  writeFileSync(file, content)
  return page.getByLabel(label).setInputFiles(file)
}

async function archiveOf({ client }: FreshServer, conversationId: string, project = 'shop'): Promise<string> {
  const found: string[] = []
  for await (const line of client.exportLines({ project, conversationId })) found.push(line)
  return found.join('\n')
}

describe('a file that is brought along', () => {
  it('an imported archive of this project comes back as it was, every hash, packed or not', async () => {
    const elsewhere = await freshServer()
    const { conversationId } = await tellStory(elsewhere.colloquy)
    const archive = await archiveOf(elsewhere, conversationId)
    const server = await freshServer()
    const { page } = await visit(server, { expects: /409/ })
    await bring(server, page, 'changed.jsonl', archive.replace('Ship it on Friday', 'Ship it on Monday'))
    await page.getByText('does not match its digest. Nothing was restored').waitFor()
    expect(await server.colloquy.stats()).toMatchObject({ conversations: 0 })
    await bring(server, page, 'story.jsonl.gz', gzipSync(archive))
    await page.getByRole('heading', { name: 'Login page' }).waitFor()
    await page.getByText('every hash checked').waitFor()
    await page.getByText('28 → 4 messages').waitFor()
    expect(await archiveOf(server, conversationId)).toBe(archive)
    expect(await server.colloquy.verify()).toMatchObject({ clean: true })
    await page.goto(`${server.running.url}/#/shop`)
    await bring(server, page, 'again.jsonl', archive, 'Bring along')
    await page.getByText('It is there already; nothing was changed.').waitFor()
  })

  it('an imported archive of another project becomes a conversation of its own, and the page says so', async () => {
    const elsewhere = await freshServer()
    const within = elsewhere.colloquy.as({ project: 'bank' })
    const { conversationId } = await tellStory(within)
    const archive = await archiveOf(elsewhere, conversationId, 'bank')
    const server = await freshServer()
    const { page } = await visit(server)
    await bring(server, page, 'story.jsonl', archive)
    await page.getByText('It is of project bank').waitFor()
    await page.getByRole('heading', { name: 'Login page' }).waitFor()
    const { items } = await server.colloquy.conversations.listConversations()
    expect(items[0]?.id).not.toBe(conversationId)
    const messages = await server.colloquy.conversations.getMessages(items[0]!.id)
    expect(messages.some(({ parts }) => parts.some(({ type }) => type === 'tool-call'))).toBe(true)
  })

  it('an imported session of Claude Code has its tools and its times', async () => {
    const record = { sessionId: 'S', isSidechain: false, timestamp: '2024-05-01T10:00:00.000Z' }
    const tool = { type: 'tool_use', id: 't', name: 'Read', input: { path: 'till.js' } }
    const result = { type: 'tool_result', tool_use_id: 't', content: 'export {}' }
    const session = lines(
      { ...record, type: 'user', uuid: 'a', parentUuid: null, message: { role: 'user', content: 'Look at the till' } },
      { ...record, type: 'assistant', uuid: 'b', parentUuid: 'a', message: { role: 'assistant', content: [tool] } },
      { ...record, type: 'user', uuid: 'c', parentUuid: 'b', message: { role: 'user', content: [result] } },
    )
    const server = await freshServer()
    const { page } = await visit(server)
    await bring(server, page, 'session.jsonl', session)
    await page.getByRole('heading', { name: 'Look at the till' }).waitFor()
    await page.getByText('3 messages came along.').waitFor()
    await page.locator('.badge', { hasText: /^tool$/ }).click()
    await page.locator('pre', { hasText: 'till.js' }).waitFor()
    await page.getByText('May 1, 2024').first().waitFor()
  })

  it('an unreadable import leaves nothing behind, and says where; lines that are no message are counted', async () => {
    const server = await freshServer()
    const { page } = await visit(server)
    const good = { role: 'user', content: 'Long ago' }
    await bring(server, page, 'chat.jsonl', `${lines(good)}\nnonsense`)
    await page.getByText('Line 2 is no JSON. Nothing was brought along.').waitFor()
    await bring(server, page, 'notes.md', '# Notes')
    await page.getByText('neither JSON nor lines of it').waitFor()
    await bring(server, page, 'empty.json', '{"messages":[{"content":"x"}]}')
    await page.getByText('entry 1: it has no role').waitFor()
    expect(await server.colloquy.stats()).toMatchObject({ conversations: 0 })
    await bring(server, page, 'chat.json', JSON.stringify({ title: 'Old chat', messages: [good, { content: 'x' }] }))
    await page.getByRole('heading', { name: 'Old chat' }).waitFor()
    await page.getByText('1 message came along. 1 entry did not: entry 2: it has no role.').waitFor()
  })

  it('an interrupted import says what is kept, and links there', async () => {
    const server = await freshServer({ open: { maxMessageBytes: 1000 } })
    const { page } = await visit(server, { expects: /413/ })
    const messages = [
      { role: 'user', content: 'Short' },
      { role: 'user', content: 'x'.repeat(2000) },
      { role: 'user', content: 'Never' },
    ]
    await bring(server, page, 'chat.json', JSON.stringify(messages))
    await page.getByText('1 of 3 messages came along and are kept').waitFor()
    await page.getByRole('link', { name: 'Look at what was kept' }).click()
    await page.getByRole('article').getByText('Short').waitFor()
  })
})
