/** The dispatcher and the orchestrator over HTTP. They go on when the client disconnects. */
import type { Handlers } from '../handler.ts'

export function dispatchHandlers(): Handlers<'dispatch'> {
  return {
    status: async ({ colloquy }) => ({
      dispatchers: colloquy.dispatcher.status(),
      running: await colloquy.dispatcher.running(),
    }),
    async start({ colloquy, body: { once, concurrency } = {}, server }) {
      const [running] = colloquy.dispatcher.status()
      if (running?.state === 'running') return running
      const dispatcher = colloquy.dispatcher.start({
        ...(once !== undefined && { once }),
        ...(concurrency !== undefined && { concurrency }),
      })
      dispatcher.over.catch(error => server.settings.trace?.error({ error }, 'a dispatcher could not go on'))
      return dispatcher.status()
    },
    stop: async ({ colloquy }) => ({ stopped: await colloquy.dispatcher.stop() }),
    parked: async ({ colloquy }) => ({ items: await colloquy.dispatcher.parked() }),
    async clear({ colloquy, body: { item, reason }, write }) {
      await colloquy.dispatcher.clear(item, reason, write)
      return { cleared: true }
    },
    async orchestrate({ colloquy, params: { conversationId }, query, body, server }) {
      const { message, agents } = body ?? {}
      // Stored first, so that the message is kept when the client disconnects.
      if (message !== undefined) {
        const input = typeof message === 'string' ? ({ role: 'user', content: message } as const) : message
        await colloquy.conversations.addEvent(conversationId, input)
      } else await colloquy.conversations.getConversation(conversationId)
      await colloquy.agents.model('orchestrator')
      const routing = colloquy.orchestrate(conversationId, agents ? { agents } : {})
      if (query.wait) return routing
      routing.catch(error => server.settings.trace?.warn({ error, conversationId }, 'routing could not go on'))
      return { outcome: 'started', turns: 0, usage: { input: 0, output: 0 } }
    },
  }
}
