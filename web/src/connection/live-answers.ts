/**
 * Answers that agents are streaming, assembled from deltas. Pure; nothing is stored. A completed answer is in the log
 * and is removed here.
 */
import type { LiveEvent, LiveWords } from 'colloquy/client'

interface LiveAnswer {
  runId: string
  sessionId: string
  conversationId: string
  agent: string
  text: string
  reasoning: string
  /** Tools that the answer called or is calling. */
  tools: readonly { id: string; name: string; isRunning: boolean }[]
  /** Why nothing arrives, such as a model call that will be retried. */
  waiting?: string
  /** Some deltas were lost in transit. The log will have the whole answer. */
  hasGap: boolean
}

export type LiveAnswers = ReadonlyMap<string, LiveAnswer>

export const noAnswers: LiveAnswers = new Map()

export function withWords(
  answers: LiveAnswers,
  { runId, sessionId, conversationId, agent, part }: LiveWords,
): LiveAnswers {
  const next = new Map(answers)
  if (part.type === 'run-end') {
    next.delete(runId)
    return next
  }
  const empty = { runId, sessionId, conversationId, agent, text: '', reasoning: '', tools: [], hasGap: false }
  const before: LiveAnswer = answers.get(runId) ?? empty
  const { waiting: _, ...known } = before
  next.set(runId, changed(known, part) ?? before)
  return next
}

function changed(answer: LiveAnswer, part: LiveWords['part']): LiveAnswer | undefined {
  const { id = '', text = '' } = part
  switch (part.type) {
    case 'run-start':
      return answer
    case 'start':
      return { ...answer, text: '', reasoning: '', tools: [], hasGap: false }
    case 'text-start':
      return answer.text === '' ? answer : { ...answer, text: `${answer.text}\n\n` }
    case 'text-delta':
      return { ...answer, text: answer.text + text }
    case 'reasoning-delta':
      return { ...answer, reasoning: answer.reasoning + text }
    case 'tool-call-start':
      return withTool(answer, id, { name: String(part.name), isRunning: false })
    case 'tool-start':
      return withTool(answer, String(part.callId), { name: String(part.name), isRunning: true })
    case 'tool-end':
      return withTool(answer, String(part.callId), { name: String(part.name), isRunning: false })
    case 'waiting':
      return { ...answer, waiting: 'The model does not answer; it is asked again in a moment' }
    case 'missed':
      return { ...answer, hasGap: true }
    default:
      return undefined
  }
}

function withTool(answer: LiveAnswer, id: string, tool: { name: string; isRunning: boolean }): LiveAnswer {
  const tools = answer.tools.filter(one => one.id !== id)
  return { ...answer, tools: [...tools, { id, ...tool }] }
}

/** Applies an event of the log: it replaces what was streamed until then. */
export function withEvent(answers: LiveAnswers, { type, event, sessionId }: LiveEvent): LiveAnswers {
  if (answers.size === 0) return answers
  const runId = type === 'run.ended' ? String(event?.runId) : undefined
  const isSaid = type === 'message.added' && event?.role === 'assistant'
  if (runId === undefined && !isSaid) return answers
  const next = new Map(answers)
  if (runId !== undefined) next.delete(runId)
  else {
    for (const [id, answer] of next) {
      if (answer.sessionId !== sessionId) continue
      next.set(id, { ...answer, text: '', reasoning: '', tools: answer.tools.filter(({ isRunning }) => isRunning) })
    }
  }
  return next
}
