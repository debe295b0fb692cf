/** One history for every driver of a session: the runner, a program's own loop, or both in turn. */
import type { AgentRequest, Colloquy, Session } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

const thread = { type: 'thread', agentType: 'helper', threadId: 'plan' } as const

async function begun(
  options: Parameters<typeof freshColloquy>[0] = {},
): Promise<{ colloquy: Colloquy; session: Session }> {
  const { colloquy } = await freshColloquy({ requests: { recall: false }, ...options })
  return { colloquy, session: await colloquy.sessions.getOrCreateSession(thread) }
}

function told({ messages }: Pick<AgentRequest, 'messages'>): string[] {
  return messages.map(
    ({ role, content }) => `${role}: ${content.map(part => ('text' in part ? part.text : '')).join(' | ')}`,
  )
}

/** One question and its answer: by the runner, or by a program that asks its own model. */
async function turn({ sessions, agents }: Colloquy, sessionId: string, number: number, by: 'run' | 'loop' | 'bare') {
  const [question, answer] = [`Question ${number}?`, `Answer ${number}.`]
  if (by === 'run') {
    await agents.run(sessionId, { message: question, model: scriptedModel(answer) })
    return
  }
  await sessions.addMessage(sessionId, { role: 'user', content: question })
  if (by === 'loop') await sessions.buildRequest(sessionId, question)
  await sessions.addMessage(sessionId, { role: 'assistant', content: answer })
}

describe('a session that is driven in several ways', () => {
  it('alternates as it was said after one run, without a catch-up', async () => {
    const { colloquy, session } = await begun()
    await turn(colloquy, session.id, 1, 'run')
    await turn(colloquy, session.id, 2, 'bare')
    await turn(colloquy, session.id, 3, 'loop')
    const request = await colloquy.sessions.buildRequest(session.id, 'Question 4?')
    expect(told(request)).toEqual([
      'user: Question 1?',
      'assistant: Answer 1.',
      'user: Question 2?',
      'assistant: Answer 2.',
      'user: Question 3?',
      'assistant: Answer 3.',
      'user: Question 4?',
    ])
    expect(request.catchUp?.messages ?? 0).toBe(0)
  })

  it('is compacted like any other after one run and 400 questions of a program', async () => {
    const { colloquy, session } = await begun({ requests: { recall: false, budget: 20_000 } })
    await turn(colloquy, session.id, 0, 'run')
    const words = 'of the plan for the login page '.repeat(4)
    for (let number = 1; number <= 400; number++) {
      await colloquy.sessions.addMessage(session.id, { role: 'user', content: `Question ${number} ${words}?` })
      await colloquy.sessions.addMessage(session.id, { role: 'assistant', content: `Answer ${number} ${words}.` })
    }
    const request = await colloquy.sessions.buildRequest(session.id, 'And now?')
    expect(request).toMatchObject({ omitted: 0, checkpoint: 1 })
    expect(request.catchUp?.omitted ?? 0).toBe(0)
    expect(await colloquy.sessions.forceCompact(session.id)).toMatchObject({ outcome: 'taken' })
  })

  it('gives the same requests in any order of runner and own loop', async () => {
    const { colloquy } = await begun()
    let number = 0
    const drivers = fc.array(fc.constantFrom('run' as const, 'loop' as const, 'bare' as const), {
      minLength: 1,
      maxLength: 8,
    })
    await fc.assert(
      fc.asyncProperty(drivers, async order => {
        const requests: string[][] = []
        for (const list of [order, order.map(() => 'bare' as const)]) {
          const { id } = await colloquy.sessions.getOrCreateSession({ ...thread, threadId: `thread-${++number}` })
          for (const [index, by] of list.entries()) await turn(colloquy, id, index, by)
          requests.push(told(await colloquy.sessions.buildRequest(id, 'And now?')))
        }
        expect(requests[0]).toEqual(requests[1])
      }),
      { numRuns: 30 },
    )
  })
})

describe('the word of another', () => {
  it('stays missed until a request of the agent held it, even if the agent spoke since', async () => {
    const { colloquy, session } = await begun()
    const { sessions, conversations } = colloquy
    await turn(colloquy, session.id, 1, 'run')
    await conversations.addEvent(session.conversationId, {
      role: 'assistant',
      author: 'qa',
      content: 'The test fails.',
    })
    await sessions.addMessage(session.id, { role: 'assistant', content: 'I go on.' })
    const request = await sessions.buildRequest(session.id, 'And now?')
    expect(request.catchUp).toMatchObject({ messages: 1, omitted: 0 })
    expect(told(request).at(-1)).toContain('The test fails.')
    expect(told(request)).toContain('assistant: Answer 1. | I go on.')

    await sessions.addMessage(session.id, { role: 'user', content: 'And now?' })
    await sessions.addMessage(session.id, { role: 'assistant', content: 'I look at the test.' })
    const next = await sessions.buildRequest(session.id, 'Well?')
    expect(next.catchUp?.messages ?? 0).toBe(0)
    expect(told(next).join('\n')).toContain('The test fails.')
  })
})
