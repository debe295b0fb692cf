/** Talking to an agent from the page: streaming, stopping, taking up again, drafts, questions, a line that breaks. */
import type { Model } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { describe, expect, it } from 'vitest'
import { cutLine } from '../support/cut-line.ts'
import { heldModel } from '../support/held-model.ts'
import { visit } from '../support/pages/browser.ts'
import { freshServer } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary.ts'

const thread = { type: 'thread', agentType: 'assistant', threadId: 'hello', title: 'Hello' } as const

async function withChat(model: Model | undefined) {
  const server = await freshServer(model ? { open: { agents: { model } } } : {})
  const session = await server.colloquy.sessions.getOrCreateSession(thread)
  return { server, session, path: `/#/shop/conversations/${session.conversationId}` }
}

describe('a chat', () => {
  it('a chat shows words as they come, survives a reload in the middle, and ends with what the log has', async () => {
    const model = heldModel('The first half', ' and the second')
    const { server, path } = await withChat(model)
    const { page } = await visit(server, { path })
    await page.getByRole('textbox', { name: 'Message to assistant' }).fill('Say it')
    await page.keyboard.press('Enter')
    const answer = page.getByRole('article', { name: 'assistant is answering' })
    await answer.getByText('The first half').waitFor()
    // One stays at the end while it grows.
    await page.waitForFunction(() => {
      const view = document.querySelector('.scroller')!
      return view.scrollHeight - view.scrollTop - view.clientHeight < 2
    })
    await page.reload()
    await answer.getByText('The first half').waitFor()
    model.goOn()
    await page
      .getByRole('article', { name: /^assistant, version/ })
      .getByText('The first half and the second')
      .waitFor()
    await answer.waitFor({ state: 'detached' })
    expect(await page.getByText('The first half').count()).toBe(1)
  })

  it('a chat is stopped, keeps the text so far, and is resumed', async () => {
    const model = heldModel('Half', ' and whole')
    const { server, path } = await withChat(model)
    const { page } = await visit(server, { path })
    await page.getByRole('textbox', { name: 'Message to assistant' }).fill('Say it')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('button', { name: 'Stop assistant' }).click()
    await page.getByText('cut off').waitFor()
    model.goOn()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByText('Half and whole').waitFor()
    await page.getByRole('button', { name: 'Retry' }).waitFor({ state: 'detached' })
  })

  it('a chat keeps a draft over a reload, until it is sent', async () => {
    const { server, path } = await withChat(scriptedModel('Yes.'))
    const { page } = await visit(server, { path })
    const field = page.getByRole('textbox', { name: 'Message to assistant' })
    await field.fill('Not finished')
    await page.reload()
    expect(await field.inputValue()).toBe('Not finished')
    await field.press('Enter')
    await page.getByText('Yes.').waitFor()
    await page.reload()
    await page.getByText('Yes.').waitFor()
    expect(await field.inputValue()).toBe('')
  })

  it('a chat says what is missing when there is no model, and records the message all the same', async () => {
    const { server, path, session } = await withChat(undefined)
    const { page } = await visit(server, { path, expects: /4\d\d/ })
    await page.getByRole('textbox', { name: 'Message to assistant' }).fill('Is anybody there?')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    await page.getByRole('button', { name: 'Record it without an answer' }).click()
    await page.getByRole('article').getByText('Is anybody there?').waitFor()
    const said = await server.colloquy.sessions.getAllMessages(session.id)
    expect(said.map(({ content }) => content)).toEqual(['Is anybody there?'])
  })

  it('a question in a chat is counted in the title, and is answered in its place', async () => {
    const ask = { calls: [{ name: 'ask', input: { question: 'Which colour?', choices: ['red', 'green'] } }] }
    const { server, path } = await withChat(scriptedModel([ask, 'Green it is.']))
    const { page } = await visit(server, { path })
    await page.getByRole('textbox', { name: 'Message to assistant' }).fill('Paint it')
    await page.keyboard.press('Enter')
    const question = page.getByRole('region', { name: 'assistant asks' })
    await question.getByText('Which colour?').waitFor()
    expect(await page.title()).toMatch(/^\(1\) Hello/)
    await question.getByRole('button', { name: 'green' }).click()
    await page.getByText('Green it is.').waitFor()
    await page.waitForFunction(() => document.title.startsWith('Hello'))
  })

  it('a request for permission in a chat is answered in its place', async () => {
    const run = { calls: [{ name: 'run_command', input: { command: 'node --version' } }] }
    const model = scriptedModel([run, 'It ran.'])
    const server = await freshServer({ open: { root: temporaryFolder(), agents: { model } } })
    const session = await server.colloquy.sessions.getOrCreateSession({ ...thread, agentType: 'dev' })
    const { page } = await visit(server, { path: `/#/shop/conversations/${session.conversationId}` })
    await page.getByRole('textbox', { name: 'Message to dev' }).fill('Which version?')
    await page.keyboard.press('Enter')
    const question = page.getByRole('region', { name: 'dev asks' })
    await question.getByText('asks for leave').waitFor()
    await question.getByText('node --version').first().waitFor()
    await question.getByRole('button', { name: 'yes' }).click()
    await page.getByText('It ran.').waitFor()
    await question.waitFor({ state: 'detached' })
  })

  it('a chat goes on in a branch with the agents of its parent, and lets others join', async () => {
    const { server, session } = await withChat(scriptedModel(['Here I am.', 'I, too.']))
    const { conversations } = server.colloquy
    await conversations.addEvent(session.conversationId, { role: 'user', content: 'What was before' })
    const { version } = await conversations.getConversation(session.conversationId)
    const branch = await conversations.branch(session.conversationId, version, { title: 'Another way' })
    const { page } = await visit(server, { path: `/#/shop/conversations/${branch.id}` })
    await page.getByRole('textbox', { name: 'Message to assistant' }).fill('And now?')
    await page.keyboard.press('Enter')
    await page.getByRole('article', { name: /^assistant, version/ }).waitFor()
    await page.getByLabel('To', { exact: true }).selectOption('another agent…')
    await page.getByLabel('Its name').fill('reviewer')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Message to reviewer' }).fill('What do you think?')
    await page.keyboard.press('Enter')
    await page.getByText('reviewer joined').waitFor()
    await page.getByRole('article', { name: /^reviewer, version/ }).waitFor()
    await page.getByRole('textbox', { name: 'Message to reviewer' }).waitFor()
  })

  it('a chat goes on without a gap when the connection is cut in the middle of an answer', async () => {
    const model = heldModel('Before the cut', ', after the cut')
    const line = await cutLine()
    const server = await freshServer({
      open: { agents: { model } },
      configuration: { hosts: [`127.0.0.1:${line.port}`], origins: [`http://127.0.0.1:${line.port}`] },
    })
    line.lead(server.running.port)
    const through = (address: string) => address.replace(/:\d+/, `:${line.port}`).replace('localhost', '127.0.0.1')
    const running = {
      ...server.running,
      url: through(server.running.url),
      entry: () => through(server.running.entry()),
    }
    const session = await server.colloquy.sessions.getOrCreateSession(thread)
    const path = `/#/shop/conversations/${session.conversationId}`
    const { page } = await visit({ running }, { path, expects: /ERR_|Failed to load/ })
    await page.getByRole('textbox', { name: 'Message to assistant' }).fill('Say it')
    await page.keyboard.press('Enter')
    await page.getByText('Before the cut').waitFor()
    line.cut()
    await page.getByText('Reconnecting').waitFor()
    await server.colloquy.conversations.addEvent(session.conversationId, { role: 'user', content: 'Said meanwhile' })
    model.goOn()
    line.mend()
    // Messages sent meanwhile are answered, too.
    await page.getByText('Before the cut, after the cut').first().waitFor()
    await page.getByText('Said meanwhile').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
  })
})
