/** Time travel over HTTP. */

import type { ReplayStep } from '../../conversation/lifecycle/time-travel.ts'
import { NotFound } from '../../errors.ts'
import type { Handlers } from '../handler.ts'
import { explained } from './explained-request.ts'

const defaultReplaySteps = 50

export function pastHandlers(): Handlers<'past'> {
  return {
    async messages({ colloquy, params, query }) {
      const past = await colloquy.conversations.at(params.conversationId, params.version)
      return { items: await past.messages({ limit: 100, ...query }) }
    },
    async session({ colloquy, params: { conversationId, version, sessionId } }) {
      const { sessions } = await colloquy.conversations.at(conversationId, version)
      const session = sessions.find(({ id }) => id === sessionId)
      if (!session) throw new NotFound('session', sessionId, `It did not exist at version ${version}.`)
      return session
    },
    async request({ colloquy, params: { conversationId, version, sessionId }, query }) {
      const past = await colloquy.conversations.at(conversationId, version)
      const sent = (await past.request(sessionId)) ?? null
      return sent && query.explain ? { ...sent, request: explained(sent.request) } : sent
    },
    async view({ colloquy, params, body: { agent, explain, ...options } }) {
      const past = await colloquy.conversations.at(params.conversationId, params.version)
      const view = await past.view(agent, options)
      return explain ? explained(view) : view
    },
    async replay({ colloquy, params, query: { limit = defaultReplaySteps, ...range } }) {
      const items: ReplayStep[] = []
      for await (const step of colloquy.conversations.replay(params.conversationId, range)) {
        if (items.length >= limit) return { items, next: String(step.version) }
        items.push(step)
      }
      return { items }
    },
  }
}
