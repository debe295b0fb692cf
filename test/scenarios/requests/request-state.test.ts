/** State that code computes from the log and puts into requests and checkpoints. */
import type { Part } from 'colloquy'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

const call = (callId: string, name: string, input: unknown = {}): Part => ({ type: 'tool-call', callId, name, input })
const result = (callId: string): Part => ({ type: 'tool-result', callId, output: 'done' })

describe('computed state', () => {
  it('[P10] computed state names running calls in every request until their result is there, through compactions', async () => {
    const { colloquy } = await freshColloquy({ requests: { budget: 4000, recall: false } })
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

describe('a request for a message that is more than text', () => {
  const feature = { type: 'feature', agentType: 'dev', featureId: 'login' } as const

  it('[P7] the result of a tool is returned as a result, right behind its call, whole or shortened', async () => {
    const { colloquy } = await freshColloquy({ requests: { recall: false } })
    const { sessions } = colloquy
    const dev = await sessions.getOrCreateSession(feature)
    await sessions.addMessage(dev.id, { role: 'user', content: 'Read a.ts' })
    await sessions.addMessage(dev.id, { role: 'assistant', parts: [call('c1', 'read_file', { path: 'a.ts' })] })
    const output = `const a = 1\n${'some long line of code\n'.repeat(600)}export default a`
    const handed = await sessions.addMessage(dev.id, {
      role: 'user',
      parts: [{ type: 'tool-result', callId: 'c1', output }],
    })
    const request = await sessions.buildRequest(dev.id, { messageId: handed.id })
    expect(request.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(request.messages.at(-1)!.content).toEqual([{ type: 'tool-result', callId: 'c1', text: output }])
    expect(request.userPrompt).toBe(`[result c1] ${output}`)
    expect(request.totalTokens).toBeGreaterThan(handed.tokens.count)

    const tight = await sessions.buildRequest(dev.id, { messageId: handed.id }, { budget: 2000 })
    const [result] = tight.messages.at(-1)!.content
    expect(result).toMatchObject({ type: 'tool-result', callId: 'c1' })
    expect((result as { text: string }).text).toMatch(/^const a = 1\n[\s\S]*tokens left out[\s\S]*export default a$/)
    expect(tight.totalTokens).toBeLessThanOrEqual(2000)
  })

  it('a message with a file gives the text of the file', async () => {
    const { colloquy } = await freshColloquy()
    const dev = await colloquy.sessions.getOrCreateSession(feature)
    const { id } = await colloquy.sessions.addMessage(dev.id, {
      role: 'user',
      parts: [
        { type: 'text', text: 'Look at this' },
        { type: 'file', name: 'notes.md', text: 'Remember the milk' },
      ],
    })
    const { messages, userPrompt } = await colloquy.sessions.buildRequest(dev.id, { messageId: id })
    expect(JSON.stringify(messages)).toContain('Remember the milk')
    expect(userPrompt).toBe('Look at this\n\n[file notes.md]\nRemember the milk')
  })
})
