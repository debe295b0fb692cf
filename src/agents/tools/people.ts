/** Tools that address others: a person, another agent, the delegating agent. */
import { z } from 'zod'
import { shortened, tool } from './tool.ts'

export const askTool = tool({
  name: 'ask',
  description:
    'Asks the person and waits for the answer. Ask only what neither the project nor the conversation answers, everything at once.',
  input: z.strictObject({
    question: z.string().min(1).max(8_000),
    choices: z.array(z.string().min(1)).max(10).optional(),
    default: z.string().optional().describe('the answer you would go on with if nobody answers'),
  }),
  async run({ question, choices, default: otherwise }, { callId, desk, limits, signal }) {
    const { answer, timedOut } = await desk.ask(
      callId,
      {
        kind: 'question',
        text: question,
        ...(choices && { choices }),
        ...(otherwise !== undefined && { default: otherwise }),
        withinMs: limits.answerWithinMs,
      },
      signal,
    )
    if (!timedOut) return answer
    return otherwise === undefined ? 'Nobody answered in time.' : `Nobody answered in time; go on with: ${answer}`
  },
})

export const delegateTool = tool({
  name: 'delegate',
  description:
    'Hands a bounded piece of work to another agent, in a conversation of its own, and waits for its result.',
  input: z.strictObject({
    to: z.string().min(1).max(200).describe("the agent's name, such as dev or qa"),
    task: z.string().min(1).max(50_000).describe('all it needs to know: it sees nothing of this conversation'),
  }),
  async run({ to, task }, { desk, limits, signal }) {
    const { outcome, result } = await desk.delegate(to, task, signal)
    return { text: shortened(`[${outcome}] ${result}`, limits.characters), isError: outcome !== 'completed' }
  },
})

export const completeTool = tool({
  name: 'complete',
  description: 'Says that the work is done, with what came of it. Nothing more is asked of you then.',
  input: z.strictObject({ summary: z.string().min(1).describe('what was done, how it was checked, what remains') }),
  run: async () => ({ text: 'Recorded as complete.', ends: true }),
})
