/** The server itself over HTTP: health, metrics, its description, live events, jobs. */
import type { HttpBindings } from '@hono/node-server'
import { ServerStopping } from '../../errors.ts'
import { demandAllProjects } from '../access/principal.ts'
import type { Handlers } from '../handler.ts'
import { docsPage } from '../pages/docs-page.ts'
import { description } from '../pages/openapi.ts'

export function operationHandlers({
  version,
  isStopping,
}: {
  version: string
  isStopping: () => boolean
}): Handlers<'operations'> {
  let described: Record<string, unknown> | undefined
  const describe = () => (described ??= description(version))
  return {
    health: async () => ({ status: 'ok' }),
    async ready({ server }) {
      if (isStopping()) throw new ServerStopping()
      await server.colloquy.stats()
      return { status: 'ok' }
    },
    async metrics({ principal, server }) {
      demandAllProjects(principal)
      const text = await server.metrics.render(server.streams)
      return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } })
    },
    describe: async () => describe(),
    docs: async ({ server }) =>
      new Response(docsPage(describe(), server.settings.basePath), {
        headers: { 'content-type': 'text/html; charset=utf-8' },
      }),
    async whoami({ principal, colloquy }) {
      const { name, scope, projects } = principal
      return { name, scope, projects, project: colloquy.project }
    },
    async events({ colloquy, query, context, server }) {
      const { conversation, session, type } = query
      const from = context.req.header('last-event-id') || query.from
      const { outgoing } = (context.env ?? {}) as Partial<HttpBindings>
      const stream = server.streams.open(
        colloquy,
        {
          ...(from !== undefined && { from }),
          ...(conversation !== undefined && { conversationId: conversation }),
          ...(session !== undefined && { sessionId: session }),
          deltas: query.deltas === true,
          types: new Set(type?.split(',').filter(one => one !== '')),
        },
        () => outgoing?.destroy(),
      )
      return new Response(stream, {
        headers: {
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-store, no-transform',
          'x-accel-buffering': 'no',
        },
      })
    },
    jobs: async ({ principal, server }) => ({
      items: server.jobs.list(project => principal.projects === 'all' || principal.projects.includes(project)),
    }),
    async nodes({ principal, server }) {
      demandAllProjects(principal)
      return { items: await server.nodes.list() }
    },
    maintain: ({ colloquy, server }) => server.jobs.maintain(colloquy),
    verify: ({ colloquy }) => colloquy.verify(),
  }
}
