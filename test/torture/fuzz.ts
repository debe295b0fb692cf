/**
 * Requests made of the contract's own schemas, half right and half wrong, to every endpoint of a running server. None
 * may be answered with a 5xx, take longer than a second, or show where in the code something went wrong.
 */
import { Agent, request as httpRequest } from 'node:http'
import type { Colloquy } from 'colloquy'
import { createServer, endpoints, listen, type NamedEndpoint, newToken } from 'colloquy/server'
import { z } from 'zod'
import { type Random, random } from './random.ts'

export interface FuzzReport {
  requests: number
  /** Number of answers by status. */
  statuses: Record<number, number>
  slowestMs: number
  slowest: string
  overOneSecond: number
  problems: string[]
}

type Schema = Record<string, unknown>

const oddValues: readonly unknown[] = [
  null,
  '',
  0,
  -1,
  1e308,
  Number.MAX_SAFE_INTEGER + 2,
  'x'.repeat(600),
  '\u0000',
  '\ud800',
  '../../etc/passwd',
  '__proto__',
  "'; drop table events; --",
  '"unclosed (phrase OR NEAR(',
  [],
  {},
  [[[[[]]]]],
  JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{}}}'),
  true,
  '1e9',
  '\u202e\ufeff𝒳👩‍👩‍👧',
]

const oddPaths = ['%00', '%ED%A0%80', '%', '%zz', '..%2f..%2f', 'x'.repeat(700), '%F0%9F%91%A9', '__proto__', '0', '-1']

export async function fuzz(options: {
  colloquy: Colloquy
  requests: number
  seed: number
  onRequest?: (done: number) => void
}): Promise<FuzzReport> {
  const { colloquy, requests, seed, onRequest } = options
  const chance = random(seed)
  const token = newToken()
  const configuration = { sweepEveryMs: null, limits: { requestsPerSecond: null, bodyBytes: 1_000_000 } }
  const server = createServer({ colloquy, owner: { token, name: 'fuzz' }, configuration })
  const running = await listen(server, { port: 0, token })
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const report: FuzzReport = { requests: 0, statuses: {}, slowestMs: 0, slowest: '', overOneSecond: 0, problems: [] }
  const knownIds = await someIds(colloquy)
  const bodies = new Map<NamedEndpoint, Schema>()
  const testedEndpoints = endpoints.filter(({ endpoint }) => endpoint.streams !== 'text/event-stream')

  async function sendOne(): Promise<void> {
    const target = chance.pick(testedEndpoints)
    const { endpoint } = target
    let schema = bodies.get(target)
    if (!schema) {
      schema = z.toJSONSchema(endpoint.body, { io: 'input', unrepresentable: 'any' }) as Schema
      bodies.set(target, schema)
    }
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => pathPart(chance, name, knownIds))
    const query = queryOf(chance, endpoint.query, knownIds)
    const isGet = endpoint.method === 'get'
    const body = isGet ? undefined : bodyOf(chance, schema, knownIds)
    const started = performance.now()
    const { status, text } = await send(
      { agent, host: running.host, port: running.port, path: path + query, method: endpoint.method.toUpperCase() },
      { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      body,
    )
    const ms = performance.now() - started
    report.requests++
    report.statuses[status] = (report.statuses[status] ?? 0) + 1
    if (ms > report.slowestMs) Object.assign(report, { slowestMs: ms, slowest: `${endpoint.method} ${endpoint.path}` })
    if (ms > 1000) report.overOneSecond++
    const label = `${endpoint.method} ${path}${query} ${body?.slice(0, 300) ?? ''} → ${status} ${text.slice(0, 300)}`
    if (status >= 500) report.problems.push(label)
    if (/\n\s+at |node_modules|\.[jt]s:\d+/.test(text)) report.problems.push(`leaks: ${label}`)
    onRequest?.(report.requests)
  }

  try {
    const lane = async () => {
      while (report.requests + 4 <= requests) await sendOne()
    }
    await Promise.all([lane(), lane(), lane(), lane()])
  } finally {
    agent.destroy()
    await running.stop()
  }
  return report
}

interface Known {
  conversationId: string[]
  sessionId: string[]
  messageId: string[]
}

async function someIds(colloquy: Colloquy): Promise<Known> {
  const knownIds: Known = { conversationId: [], sessionId: [], messageId: [] }
  for (let number = 0; number < 5; number++) {
    const session = await colloquy.sessions.getOrCreateSession({
      type: 'thread',
      agentType: 'dev',
      threadId: `fuzz ${number}`,
    })
    knownIds.sessionId.push(session.id)
    knownIds.conversationId.push(session.conversationId)
    for (let index = 0; index < 20; index++) {
      const role = index % 2 ? 'assistant' : 'user'
      knownIds.messageId.push(
        (await colloquy.sessions.addMessage(session.id, { role, content: `Message ${index}` })).id,
      )
    }
  }
  return knownIds
}

function idLike(chance: Random, name: string, known: Known): string | undefined {
  if (name === 'id') return chance.pick(known.sessionId)
  if (name === 'other' || name === 'conversation' || name === 'confirm') return chance.pick(known.conversationId)
  if (name === 'session') return chance.pick(known.sessionId)
  return name in known ? chance.pick(known[name as keyof Known]) : undefined
}

function pathPart(chance: Random, name: string, known: Known): string {
  if (chance.below(8) === 0) return chance.pick(oddPaths)
  if (name === 'project' || name === 'project_id') return 'shop'
  return encodeURIComponent(idLike(chance, name, known) ?? String(chance.below(5)))
}

function queryOf(chance: Random, schema: z.ZodObject, known: Known): string {
  const query = new URLSearchParams()
  for (const name of Object.keys(schema.shape)) {
    if (chance.below(3) === 0) continue
    const plain = name.startsWith('project') ? 'shop' : (idLike(chance, name, known) ?? String(chance.below(20)))
    query.set(name, chance.below(4) === 0 ? textOf(chance.pick(oddValues)) : plain)
  }
  if (chance.below(20) === 0) query.set('unknown', 'x')
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

function bodyOf(chance: Random, schema: Schema, known: Known): string | undefined {
  const kind = chance.below(30)
  if (kind === 0) return undefined
  if (kind === 1) return '{"role":'
  if (kind === 2) return JSON.stringify(chance.pick(oddValues))
  if (kind === 3) return `${'['.repeat(5000)}${']'.repeat(5000)}`
  return JSON.stringify(madeOf(chance, schema, (schema.$defs ?? {}) as Record<string, Schema>, known, ''))
}

function madeOf(chance: Random, schema: Schema, defs: Record<string, Schema>, known: Known, name: string): unknown {
  if (chance.below(25) === 0) return chance.pick(oddValues)
  const inner = (next: Schema, key = name) => madeOf(chance, next, defs, known, key)
  if (typeof schema.$ref === 'string') return inner(defs[schema.$ref.split('/').at(-1)!] ?? {})
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (choices) return inner(chance.pick(choices))
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return chance.pick(schema.enum)
  switch (schema.type) {
    case 'object': {
      const required = new Set((schema.required as string[] | undefined) ?? [])
      const entries = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
      const chosenEntries = entries.filter(([key]) => chance.below(required.has(key) ? 20 : 3) > 0)
      return Object.fromEntries(chosenEntries.map(([key, next]) => [key, inner(next, key)]))
    }
    case 'array':
      return Array.from({ length: chance.below(4) }, () => inner((schema.items ?? {}) as Schema))
    case 'integer':
      return chance.pick([0, 1, 2, 10, 1000, 100_000])
    case 'number':
      return chance.pick([0, 0.5, 1, 1e6])
    case 'boolean':
      return chance.below(2) === 0
    case 'null':
      return null
    case 'string':
      return idLike(chance, name, known) ?? chance.pick(['dev', 'qa', 'chat', 'plan', 'some words of it', 'x'])
    default:
      return chance.pick(oddValues)
  }
}

function send(
  where: { agent: Agent; host: string; port: number; path: string; method: string },
  headers: Record<string, string>,
  body: string | undefined,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ ...where, headers }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', piece => {
        if (text.length < 100_000) text += piece
      })
      response.on('end', () => resolve({ status: response.statusCode!, text })).on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}
