/** Runs and questions over HTTP. A run goes on when the client disconnects. */
import type { z } from 'zod'
import type { RunTarget } from '../../agents/runs/run-options.ts'
import { IllegalState, InvalidRequest } from '../../errors.ts'
import type { Colloquy, RunOptions } from '../../index.ts'
import { demandScope } from '../access/principal.ts'
import type { Run, runs } from '../contract/runs.ts'
import type { Call, Handlers } from '../handler.ts'
import { demandModel } from './model-choice.ts'

export function runHandlers(): Handlers<'runs'> {
  return {
    start: call => run(call, call.params.sessionId, call.body),
    startAgent(call) {
      const { agent, agentType, ...body } = call.body
      const { conversationId } = call.params
      return run(call, { conversationId, agent, ...(agentType !== undefined && { agentType }) }, body)
    },
    async stop({ colloquy, params }) {
      await colloquy.sessions.getSession(params.sessionId)
      return { stopped: await colloquy.agents.cancel(params.sessionId) }
    },
    list: async ({ colloquy, query }) => ({ items: await colloquy.agents.running(query.conversation) }),
    async models({ colloquy }) {
      return { items: [...new Set(colloquy.agents.configuredModels())].map(name => ({ name })) }
    },
    questions: async ({ colloquy, query }) => ({ items: await openQuestions(colloquy, query.conversation) }),
    async allQuestions({ colloquy, principal }) {
      const items = []
      for (const project of await colloquy.projects()) {
        if (principal.projects !== 'all' && !principal.projects.includes(project)) continue
        items.push(...(await openQuestions(colloquy.as({ project }))))
      }
      return { items: items.sort((one, other) => one.askedAt.localeCompare(other.askedAt)) }
    },
    async answer({ colloquy, params, body: { answer, conversationId: named }, write, principal }) {
      const { questionId } = params
      const question =
        named === undefined
          ? (await colloquy.agents.questions()).find(one => one.id === questionId)
          : await colloquy.agents.question(named, questionId)
      if (!question) throw new IllegalState(`There is no open question ${questionId}.`, { questionId })
      // An approval may allow any program on this machine.
      if (question.kind === 'approval') demandScope(principal, 'admin')
      const { conversationId } = question
      const answered = await colloquy.agents.answer(questionId, answer, { ...write, conversationId })
      return { project: colloquy.project, ...answered }
    },
  }
}

type Started = Pick<Call<typeof runs.start>, 'colloquy' | 'query' | 'write' | 'principal' | 'server'>

async function run(
  { colloquy, query, write, principal, server }: Started,
  target: RunTarget,
  { retry: _, ...given }: NonNullable<z.output<typeof runs.start.body>> = {},
): Promise<z.input<typeof Run>> {
  if (given.message === undefined && (write.expectedVersion !== undefined || write.fence)) {
    throw new InvalidRequest([
      { field: 'headers', message: 'if-match and colloquy-fence are for a message; there is none' },
    ])
  }
  if (given.model !== undefined) demandModel(principal, given.model, colloquy)
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as RunOptions
  const { ended, ...started } = await colloquy.agents.start(target, { ...options, write })
  ended.catch(error => server.settings.trace?.warn({ error, ...started }, 'a run could not go on'))
  if (!query.wait) return started
  const { messageId: answerId, failure: __, completed: ___, ...result } = await ended
  return { ...started, ...result, state: 'ended', ...(answerId !== undefined && { answerId }) }
}

async function openQuestions(colloquy: Colloquy, conversationId?: string) {
  const { project } = colloquy
  return (await colloquy.agents.questions(conversationId)).map(question => ({ project, ...question }))
}
