/** Routes on a conversation in a process of its own, and hangs in its agent's model: to be killed there. */
import { writeSync } from 'node:fs'
import { openColloquy } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'

const [store, conversationId] = process.argv.slice(2)
const route = scriptedModel('{"agents":["dev","qa"],"reason":"go","instruction":"Build and test it"}')
const agent = scriptedModel(async ({ system }) => {
  if (system.includes('reviewer and tester')) return 'Four tests pass.'
  writeSync(1, 'working\n')
  await new Promise(resolve => setTimeout(resolve, 60_000))
  return 'never'
})
const colloquy = await openColloquy({
  store,
  project: 'shop',
  tokens: 'fast',
  sweepEveryMs: null,
  agents: { model: agent, models: { orchestrator: route }, leaseMs: 2_500 },
})
await colloquy.orchestrate(conversationId)
