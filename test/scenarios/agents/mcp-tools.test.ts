/** Tools of MCP servers that a project names; and projects that keep no history. */
import { fileURLToPath } from 'node:url'
import { ToolServerFailed } from 'colloquy/errors'
import { scriptedModel } from 'colloquy/models/scripted'
import { expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

const server = fileURLToPath(new URL('../../support/processes/mcp-server.mjs', import.meta.url))
const feature = { type: 'feature', agentType: 'pm', featureId: 'login' } as const

it('an agent is offered the tools of an MCP server and gets their answers', async () => {
  const { colloquy } = await freshColloquy({ agents: { mcp: { sky: { command: process.execPath, args: [server] } } } })
  const { id } = await colloquy.sessions.getOrCreateSession(feature)
  let names: string[] = []
  const model = scriptedModel([
    ({ tools = [] }) => {
      names = tools.map(one => one.name)
      const input = { place: 'Lisbon' }
      return {
        calls: [
          { name: 'mcp__sky__weather', input },
          { name: 'mcp__sky__storm', input },
        ],
      }
    },
    'Sunny.',
  ])
  expect(await colloquy.agents.run(id, { message: 'Weather?', model })).toMatchObject({
    outcome: 'done',
    text: 'Sunny.',
  })
  expect(names).toContain('mcp__sky__weather')
  const parts = (await colloquy.sessions.getAllMessages(id)).flatMap(one => one.parts)
  const results = parts.filter(part => part.type === 'tool-result')
  expect(results.find(part => part.name === 'mcp__sky__weather')).toMatchObject({ output: 'Sunny in Lisbon.' })
  expect(results.find(part => part.name === 'mcp__sky__storm')).toMatchObject({ output: 'No storm.', isError: true })
})

it('an MCP server that cannot be used is named, with the reason', async () => {
  const { colloquy } = await freshColloquy({
    agents: { mcp: { sky: { command: process.execPath, args: ['-e', 'process.exit(7)'] } } },
  })
  const { id } = await colloquy.sessions.getOrCreateSession(feature)
  const answer = colloquy.agents.run(id, { message: 'Weather?', model: scriptedModel('x') })
  await expect(answer).rejects.toThrow(ToolServerFailed)
  await expect(answer).rejects.toThrow(/sky.*exit code 7/)
})

it('an MCP server gives its tools only to the agents it is for', async () => {
  const sky = { command: process.execPath, args: ['-e', 'process.exit(7)'], agents: ['dev'] }
  const { colloquy } = await freshColloquy({ agents: { mcp: { sky } } })
  const { id } = await colloquy.sessions.getOrCreateSession(feature)
  expect(await colloquy.agents.run(id, { message: 'Hello', model: scriptedModel('Hello.') })).toMatchObject({
    outcome: 'done',
  })
})

it('a project with its history switched off sends none, and keeps it all the same', async () => {
  const { colloquy } = await freshColloquy({ agents: { singleShot: true } })
  const { id, conversationId } = await colloquy.sessions.getOrCreateSession(feature)
  const sent: string[] = []
  const model = scriptedModel(({ messages }) => {
    sent.push(JSON.stringify(messages))
    return 'Noted.'
  })
  await colloquy.agents.run(id, { message: 'The zebra is blue', model })
  await colloquy.agents.run(id, { message: 'What colour is it?', model })
  expect(sent[1]).toContain('What colour is it?')
  expect(sent[1]).not.toContain('zebra')
  expect(await colloquy.conversations.getMessages(conversationId)).toHaveLength(4)
})
