/** Every model passes the contract, against real servers and processes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { anthropicModel, openAiCompatibleModel } from 'colloquy/models/ai-sdk'
import { commandModel } from 'colloquy/models/command'
import { type ScriptedAnswer, scriptedModel } from 'colloquy/models/scripted'
import * as anthropic from '../support/models/anthropic.ts'
import * as openai from '../support/models/openai.ts'
import type { Scene } from '../support/models/scene.ts'
import { providerServer, type Reply } from '../support/models/server.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { describeModel } from './models.ts'

const silenceMs = 60_000

async function anthropicWith(...replies: Reply[]) {
  const { url } = await providerServer(...replies)
  return anthropicModel({ model: 'claude-test', apiKey: 'test-key', baseUrl: url, silenceMs })
}

describeModel('Anthropic', {
  playing: (...scenes) => anthropicWith(...scenes.map(anthropic.plays)),
  refusedWith: refusal => anthropicWith(anthropic.refusesWith(refusal)),
  has: { reasoning: true, usage: true },
})

async function openAiWith(...replies: Reply[]) {
  const { url } = await providerServer(...replies)
  return openAiCompatibleModel({ model: 'test', apiKey: 'test-key', baseUrl: url, silenceMs })
}

describeModel('OpenAI-compatible', {
  playing: (...scenes) => openAiWith(...scenes.map(openai.plays)),
  refusedWith: refusal => openAiWith(openai.refusesWith(refusal)),
  has: { reasoning: true, usage: true },
})

const agent = fileURLToPath(new URL('../support/models/agent.mjs', import.meta.url))

describeModel('command', {
  async playing(...scenes) {
    const file = join(temporaryFolder(), 'scenes.json')
    writeFileSync(file, JSON.stringify(scenes))
    return commandModel(`'${process.execPath}' '${agent}' '${file}'`)
  },
  has: { reasoning: false, usage: false },
})

describeModel('scripted', {
  playing: async (...scenes) => scriptedModel(scenes.map(scriptedAnswer)),
  refusedWith: async ({ kind, retryAfterSeconds }) =>
    scriptedModel({ failure: { kind, ...(retryAfterSeconds && { retryAfterMs: retryAfterSeconds * 1000 }) } }),
  has: { reasoning: true, usage: true },
})

/** The scene as a script; what stalls waits until it is cancelled or left. */
function scriptedAnswer(scene: Scene): ScriptedAnswer {
  const { text, reasoning, calls, stop, usage, ending } = scene
  const turn = {
    ...(text !== undefined && { text }),
    ...(reasoning && { reasoning: reasoning.text }),
    ...(calls && {
      calls: calls.map(call => ({ name: call.name, callId: call.id, ...readArguments(call.arguments) })),
    }),
    ...(stop && { stopReason: stop }),
    ...(usage && { usage }),
  }
  if (ending === 'cut') return { ...turn, failure: { kind: 'network' } }
  // A script cannot stall; it goes on for longer than any reader.
  return ending === 'stall' ? { ...turn, text: `${text}${' and so on'.repeat(100_000)}` } : turn
}

function readArguments(json: string): { input: unknown; problem?: string } {
  try {
    return { input: JSON.parse(json) }
  } catch (error) {
    return { input: { unreadable: json }, problem: `The arguments are not JSON: ${(error as Error).message}` }
  }
}
