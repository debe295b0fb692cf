/** Images that messages name: seen by models that see, described to all others, counted by both. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Part } from 'colloquy'
import { openModel } from 'colloquy/models'
import { expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'
import * as anthropic from '../../support/models/anthropic.ts'
import * as openai from '../../support/models/openai.ts'
import { providerServer } from '../../support/models/server.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const feature = { type: 'feature', agentType: 'pm', featureId: 'login' } as const
const environment = { ANTHROPIC_API_KEY: 'none', OPENAI_API_KEY: 'none' }

function workTree(): string {
  const root = temporaryFolder()
  mkdirSync(join(root, 'docs'))
  writeFileSync(join(root, 'docs', 'form.png'), png)
  writeFileSync(join(root, '..', 'outside.png'), png)
  symlinkSync('../../outside.png', join(root, 'docs', 'link.png'))
  return root
}

const image = (path: string): Part => ({ type: 'file', name: 'form.png', mediaType: 'image/png', path })

it('an image of the worktree is sent to a model that sees, again with every request, and named in words', async () => {
  const server = await providerServer(anthropic.plays({ text: 'A form.' }))
  const model = await openModel('anthropic:claude-test', { baseUrl: server.url, environment })
  const { colloquy } = await freshColloquy({ root: workTree() })
  const { id } = await colloquy.sessions.getOrCreateSession(feature)
  const parts: Part[] = [{ type: 'text', text: 'What is this?' }, image('docs/form.png')]
  await colloquy.agents.run(id, { message: { role: 'user', parts }, model })
  await colloquy.agents.run(id, { message: 'Are you sure?', model })

  const seen = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } }
  for (const { body } of server.asked) {
    const [first] = body.messages
    expect(first.content).toEqual([
      expect.objectContaining({ text: 'What is this?\n\n[file form.png at docs/form.png]' }),
      expect.objectContaining(seen),
    ])
  }
  expect(server.asked).toHaveLength(2)
  const [said] = await colloquy.sessions.getAllMessages(id)
  expect(said?.tokens.count).toBeGreaterThan(1_600)
})

it('an image goes to OpenAI by its address or as it came, and only by its name to an unknown server', async () => {
  const [known, unknown] = [
    await providerServer(openai.plays({ text: 'Yes.' })),
    await providerServer(openai.plays({ text: 'Yes.' })),
  ]
  const { colloquy } = await freshColloquy({ root: workTree() })
  const data = `data:image/png;base64,${png.toString('base64')}`
  const parts: Part[] = [
    { type: 'text', text: 'Look' },
    { type: 'file', name: 'far.png', mediaType: 'image/png', url: 'https://example.org/far.png' },
    { type: 'file', name: 'here.png', mediaType: 'image/png', url: data },
  ]
  for (const model of [
    await openModel('openai:gpt-test', { baseUrl: known.url, environment }),
    await openModel(`openai-compatible:tiny@${unknown.url}`, { environment }),
  ]) {
    const { id } = await colloquy.sessions.createSession({ type: 'thread', agentType: 'pm', threadId: model.name })
    expect(await colloquy.agents.run(id, { message: { role: 'user', parts }, model })).toMatchObject({
      outcome: 'done',
    })
  }
  const content = (asked: typeof known) => asked.asked[0]!.body.messages.at(-1).content
  const text = 'Look\n\n[file far.png at https://example.org/far.png]\n\n[file here.png]'
  expect(content(known)).toEqual([
    { type: 'text', text },
    { type: 'image_url', image_url: { url: 'https://example.org/far.png' } },
    { type: 'image_url', image_url: { url: data } },
  ])
  expect(JSON.stringify(content(unknown))).toBe(JSON.stringify(text))
})

it('an image is read from the worktree only, and one that cannot be sent is named instead', async () => {
  const server = await providerServer(anthropic.plays({ text: 'No.' }))
  const model = await openModel('anthropic:claude-test', { baseUrl: server.url, environment })
  const { colloquy } = await freshColloquy({ root: workTree() })
  const { id } = await colloquy.sessions.getOrCreateSession(feature)
  const paths = ['../outside.png', 'docs/link.png', 'docs/none.png', '/etc/hostname']
  const result = await colloquy.agents.run(id, { message: { role: 'user', parts: paths.map(image) }, model })
  expect(result.outcome).toBe('done')
  const { content } = server.asked[0]!.body.messages[0]
  expect(content.map(({ type }: { type: string }) => type)).toEqual(['text'])
  for (const path of paths) expect(content[0].text).toContain(path)
})
