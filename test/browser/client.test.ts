/** The client in a real page, let in by its cookie: streams, goes on after a restart, and tries again without doubling. */
import { createServer, listen } from 'colloquy/server'
import { expect, it, onTestFinished } from 'vitest'
import { visit } from '../support/pages/browser.ts'
import { clientBundle } from '../support/pages/client-bundle.ts'
import { freshServer } from '../support/server.ts'

it('the client in a browser streams every event once across a restart of the server, and repeats a write that was lost on the way', async () => {
  const server = await freshServer()
  const { colloquy, token, running } = server
  const { id: conversationId } = await colloquy.conversations.createConversation({ title: 'x' })
  const say = (content: string) => colloquy.conversations.addEvent(conversationId, { role: 'user', content })
  const { page } = await visit(server, { path: '/api/docs', expects: /ERR_|Failed to load|503/ })
  // Through the debugger, not as a script of the page: the content policy stays as it is.
  await page.evaluate(`${await clientBundle()}; globalThis.ColloquyClient = ColloquyClient`)
  await page.evaluate(`
    globalThis.seen = []
    globalThis.client = ColloquyClient.connect({ project: 'shop', retries: 12 })
    ;void (async () => {
      for await (const event of client.live({ from: 'start' })) seen.push(event.version)
    })()`)
  const seen = (count: number) => expect.poll(() => page.evaluate('seen.length'), { timeout: 30_000 }).toBe(count)
  await say('one')
  await seen(2)
  await page.evaluate(
    `client.conversations.say({ conversationId: '${conversationId}', body: { role: 'user', content: 'two' } })`,
  )
  await seen(3)

  await running.stop()
  await say('while it was away')
  const lost = page.evaluate(
    `client.conversations.say({ conversationId: '${conversationId}', body: { role: 'user', content: 'three' } })`,
  )
  const again = createServer({ colloquy, owner: { token, name: 'owner' }, configuration: { sweepEveryMs: null } })
  const second = await listen(again, { port: running.port, token })
  onTestFinished(() => second.stop())
  expect(await lost).toMatchObject({ content: 'three', version: 5 })
  await say('five')
  await seen(6)
  expect(await page.evaluate('seen')).toEqual([1, 2, 3, 4, 5, 6])
  const messages = await colloquy.conversations.getMessages(conversationId)
  expect(messages.map(({ content }) => content)).toEqual(['one', 'two', 'while it was away', 'three', 'five'])
})
