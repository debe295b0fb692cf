/** Tools that address others: a person, another agent, the delegating agent. */
import { z } from 'zod'
import { shorten, tool } from './tool.ts'

export const askTool = tool({
  name: 'ask',
  description:
    'Asks the person and waits for the answer. Ask only what neither the project nor the conversation answers, and ask everything at once.',
  input: z.strictObject({
    question: z.string().min(1).max(8_000),
    choices: z.array(z.string().min(1)).max(10).optional(),
    default: z.string().optional().describe('the answer you would use if nobody answers'),
  }),
  async run({ question, choices, default: fallback }, { callId, port, limits, signal }) {
    const { answer, timedOut } = await port.ask(
      callId,
      {
        kind: 'question',
        text: question,
        ...(choices && { choices }),
        ...(fallback !== undefined && { default: fallback }),
        withinMs: limits.answerWithinMs,
      },
      signal,
    )
    if (!timedOut) return answer
    return fallback === undefined ? 'Nobody answered in time.' : `Nobody answered in time. Continue with: ${answer}`
  },
})

export const delegateTool = tool({
  name: 'delegate',
  description:
    'Delegates a bounded piece of work to another agent, in a conversation of its own, and waits for its result.',
  input: z.strictObject({
    to: z.string().min(1).max(200).describe("the agent's name, such as dev or qa"),
    task: z.string().min(1).max(50_000).describe('everything it needs to know: it does not see this conversation'),
  }),
  async run({ to, task }, { port, limits, signal }) {
    const { outcome, result } = await port.delegate(to, task, signal)
    return { text: shorten(`[${outcome}] ${result}`, limits.characters), isError: outcome !== 'completed' }
  },
})

export const completeTool = tool({
  name: 'complete',
  description: 'Reports that the work is done, with its result. It ends your run.',
  input: z.strictObject({ summary: z.string().min(1).describe('what was done, how it was checked, what remains') }),
  run: async () => ({ text: 'Recorded as complete.', ends: true }),
})
