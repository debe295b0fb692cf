/** What code computes from the log and puts into requests and checkpoints itself. */
import type { Part } from 'colloquy'
import { describe, expect, it } from 'vitest'
import { opened } from '../support/colloquy.ts'

const call = (callId: string, name: string, input: unknown = {}): Part => ({ type: 'tool-call', callId, name, input })
const result = (callId: string): Part => ({ type: 'tool-result', callId, output: 'done' })

describe('computed state', () => {
  it('[P10] names running calls in every request until their result is there, through compactions', async () => {
    const { colloquy } = await opened({ requests: { budget: 4000, recall: false } })
    const { sessions } = colloquy
    const dev = await sessions.getOrCreateSession({ type: 'feature', agentType: 'dev', featureId: 'login' })
    await sessions.addMessage(dev.id, { role: 'user', content: 'Start both and wait.' })
    await sessions.addMessage(dev.id, {
      role: 'assistant',
      parts: [call('long-1', 'delegate'), call('long-2', 'run_command'), call('f', 'edit_file', { path: 'src/a.ts' })],
    })
    await sessions.addMessage(dev.id, { role: 'user', parts: [result('f')] })
    for (let turn = 0; turn < 40; turn++) {
      await sessions.addMessage(dev.id, {
        role: 'user',
        content: `Question ${turn} ${'about this and that '.repeat(12)}`,
      })
      await sessions.addMessage(dev.id, {
        role: 'assistant',
        content: `Answer ${turn} ${'about this and that '.repeat(12)}`,
      })
    }
    const first = await sessions.buildRequest(dev.id, 'What is running?')
    expect(first.checkpoint).toBe(1)
    expect(first.systemPrompt).toContain('- delegate (call long-1, message 4)')
    expect(first.systemPrompt).toContain('- run_command (call long-2, message 4)')
    expect(first.systemPrompt).toContain('## Files changed\n- src/a.ts')
    expect(first.ledger.entries.find(entry => entry.what === 'state')).toMatchObject({ fate: 'kept' })
    // It changes often, so it stands behind the history, where a prompt cache does not mind.
    expect(first.systemPrompt.indexOf('call long-1')).toBeGreaterThan(first.systemPrompt.indexOf('Answer 39'))

    await sessions.addMessage(dev.id, { role: 'user', parts: [result('long-1')] })
    const second = await sessions.buildRequest(dev.id, 'And now?')
    expect(second.systemPrompt).not.toContain('call long-1')
    expect(second.systemPrompt).toContain('- run_command (call long-2, message 4)')
  })
})
