/** Spans around append, assemble, compact and run, told by OpenTelemetry's own SDK. */
import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { scriptedModel } from 'colloquy/models/scripted'
import { expect, it, onTestFinished } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

function tracing() {
  const told = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(told)] })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  onTestFinished(async () => {
    context.disable()
    trace.disable()
    await provider.shutdown()
  })
  return { tracer: provider.getTracer('colloquy'), spans: () => told.getFinishedSpans(), forget: () => told.reset() }
}

const thread = { type: 'thread', agentType: 'dev', threadId: 't' } as const

it('the span of a run has its attributes, and its model calls and writes inside it', async () => {
  const { tracer, spans, forget } = tracing()
  const { colloquy } = await freshColloquy({ tracer, agents: { model: scriptedModel('Yes.') } })
  const { id } = await colloquy.sessions.getOrCreateSession(thread)
  forget()
  const result = await colloquy.agents.run(id, { message: 'Hello' })
  const run = spans().find(({ name }) => name === 'colloquy.run')!
  expect(run.attributes).toMatchObject({
    'colloquy.project': 'shop',
    'colloquy.session': id,
    'colloquy.agent': 'dev',
    'colloquy.model': 'scripted',
    'colloquy.run': result.runId,
    'colloquy.outcome': 'done',
    'colloquy.steps': 1,
  })
  const inside = spans().filter(({ parentSpanContext }) => parentSpanContext?.spanId === run.spanContext().spanId)
  expect(inside.map(({ name }) => name)).toEqual([
    'colloquy.append',
    'colloquy.assemble',
    'colloquy.append',
    'colloquy.append',
  ])
  const assembled = inside.find(({ name }) => name === 'colloquy.assemble')!
  expect(assembled.attributes).toMatchObject({ 'colloquy.session': id, 'colloquy.strategy': 'checkpoint' })
  expect(assembled.attributes['colloquy.tokens']).toBeGreaterThan(0)
  expect(new Set(spans().map(span => span.spanContext().traceId)).size).toBe(2)
})

it('spans say how a compaction went, and what an append recorded', async () => {
  const { tracer, spans, forget } = tracing()
  const { colloquy } = await freshColloquy({ tracer })
  const { id, conversationId } = await colloquy.sessions.getOrCreateSession(thread)
  for (let number = 0; number < 8; number++) {
    await colloquy.sessions.addMessage(id, {
      role: 'user',
      content: `Decided: colour ${number} is for page ${number}.`,
    })
  }
  const appends = spans().filter(({ name }) => name === 'colloquy.append')
  expect(appends.at(-1)!.attributes).toMatchObject({
    'colloquy.conversation': conversationId,
    'colloquy.actor': 'local',
    'colloquy.channel': 'library',
    'colloquy.events': 1,
    'colloquy.replayed': false,
  })
  forget()
  const { outcome } = await colloquy.sessions.forceCompact(id, { keep: { messages: 1 } })
  const compaction = spans().find(({ name }) => name === 'colloquy.compact')!
  expect(compaction.attributes).toMatchObject({
    'colloquy.session': id,
    'colloquy.reason': 'forced',
    'colloquy.model': 'offline',
    'colloquy.outcome': outcome,
  })
})

it('spans mark what failed, and change nothing of the failure', async () => {
  const { tracer, spans } = tracing()
  const { colloquy } = await freshColloquy({ tracer })
  const { id } = await colloquy.conversations.createConversation({ title: 'x' })
  const refused = colloquy.conversations.addEvent(id, { role: 'user', content: 'x' }, { expectedVersion: 7 })
  await expect(refused).rejects.toMatchObject({ code: 'log/version-conflict' })
  const failed = spans().at(-1)!
  expect(failed.status.code).toBe(SpanStatusCode.ERROR)
  expect(failed.events[0]).toMatchObject({ name: 'exception' })
})
