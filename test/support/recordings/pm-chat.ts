/** A chat with a project manager, ten turns long, through whatever sends `systemPrompt` and `userPrompt` to a provider. */
import type { AgentRequest, Colloquy } from 'colloquy'
import { plays } from '../models/anthropic.ts'
import { type ProviderServer, providerServer, type RecordedRequest } from '../models/server.ts'

export const turns = 10
export const budget = 9_000
/** Tokens of the budget that an agent framework may put around our prompts. */
export const reserve = 1_500

export interface Sent {
  question: string
  request: AgentRequest
  /** The request that reached the provider. */
  arrived: RecordedRequest
}

export interface ChatTurn {
  text: string
  usage: { input: number; output: number }
  /** The session id of the framework. */
  sessionId?: string
}

/** Sends one request to the server at the address, and gives back what it answered. */
export type Send = (request: AgentRequest, baseUrl: string) => Promise<ChatTurn>

export async function pmChat(
  colloquy: Colloquy,
  send: Send,
): Promise<{ sessionId: string; sent: Sent[]; asked: RecordedRequest[] }> {
  const { sessions } = colloquy
  const session = await sessions.getOrCreateSession({ type: 'feature', agentType: 'pm', featureId: 'login' })
  const server = await anthropicServer()
  const sent: Sent[] = []
  for (let turn = 1; turn <= turns; turn++) {
    const question = questionOf(turn)
    await sessions.addMessage(session.id, { role: 'user', content: question })
    const request = await sessions.buildRequest(session.id, question, { reserve })
    const answer = await send(request, server.url.replace(/\/v1$/, ''))
    await sessions.addMessage(session.id, { role: 'assistant', content: answer.text, usage: answer.usage })
    if (answer.sessionId !== undefined) await sessions.setOutsideId(session.id, 'claude', answer.sessionId)
    sent.push({ question, request, arrived: server.asked.at(-1)! })
  }
  return { sessionId: session.id, sent, asked: server.asked }
}

export function questionOf(turn: number): string {
  return `Question ${turn}: what does part ${turn} of the login page need? ${filler('asked', turn)}`
}

export function answerOf(turn: number): string {
  return `Answer ${turn}: part ${turn} needs src/login/part-${turn}.ts and its tests. ${filler('told', turn)}`
}

/** Words that stand in one message only. */
function filler(what: string, turn: number): string {
  return Array.from({ length: 130 }, (_, word) => `${what}-${turn}-${word}`).join(' ')
}

function anthropicServer(): Promise<ProviderServer> {
  const replies = Array.from({ length: turns }, (_, index) =>
    plays({ text: answerOf(index + 1), usage: { input: 100, output: 50 } }),
  )
  return providerServer(...replies)
}

/** Every text of a request to the Messages API. */
export function textsIn({ body }: RecordedRequest): string[] {
  const system: unknown[] = typeof body.system === 'string' ? [body.system] : body.system
  const parts = body.messages.flatMap(({ content }: { content: unknown }) => content)
  return [...system, ...parts].map(one => (typeof one === 'string' ? one : (one as { text: string }).text))
}
