/**
 * Answers approval questions of agents while a team works, by the project's policy or the agent `harness`. A person may
 * answer first.
 */
import { z } from 'zod'
import { IllegalState } from '../../errors.ts'
import type { Model } from '../../models/model.ts'
import type { Approvals } from '../build-settings.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import type { LivePart } from '../runs/live-channel.ts'
import { tool } from '../tools/tool.ts'

export interface Harness {
  /** Receives each part of a run, and answers its approval questions. */
  onRunPart(agent: string, part: LivePart): void
  /** Waits for pending answers. */
  settled(): Promise<void>
}

export function harness({
  agents,
  approvals,
  session,
  model,
  signal,
  onAnswer,
}: {
  /** Acts as the harness, which the log names as the approver. */
  agents: AgentManager
  approvals: Approvals
  /** Session of the harness agent on the feature. */
  session: () => Promise<string>
  model: Model | string | undefined
  signal: AbortSignal
  onAnswer: (approval: { agent: string; text: string; answer: string }) => void
}): Harness {
  const pendingAnswers = new Set<Promise<void>>()

  async function answer(agent: string, { questionId, text }: Extract<LivePart, { type: 'question' }>): Promise<void> {
    const answer = approvals === 'agent' ? await askAgent(agent, questionId, text) : approvals
    if (answer === undefined) return
    try {
      await agents.answer(questionId, answer)
      onAnswer({ agent, text, answer })
    } catch (error) {
      // A person has answered.
      if (!(error instanceof IllegalState)) throw error
    }
  }

  /** Returns the decision of the harness agent; undefined leaves it to a person. */
  async function askAgent(agent: string, questionId: string, text: string): Promise<string | undefined> {
    let decision: string | undefined
    const decide = tool({
      name: 'decide',
      description: 'Gives or refuses leave for what the agent wants to do. Leave it to a person when in doubt.',
      input: z.strictObject({ answer: z.enum(['yes', 'no', 'person']), reason: z.string().optional() }),
      async run({ answer, reason }) {
        if (answer !== 'person') decision = answer === 'yes' || !reason ? answer : reason
        return { text: 'Recorded.', ends: true }
      },
    })
    const message = `${agent} asks for leave. Decide with the tool decide.\n\n${text}`
    await agents.run(await session(), {
      message,
      once: `leave ${questionId}`,
      tools: [decide],
      signal,
      ...(model !== undefined && { model }),
    })
    return decision
  }

  return {
    onRunPart(agent, part) {
      if (approvals === 'person' || part.type !== 'question' || part.kind !== 'approval') return
      // An error leaves the question open for a person.
      const pendingAnswer: Promise<void> = answer(agent, part)
        .catch(() => undefined)
        .finally(() => pendingAnswers.delete(pendingAnswer))
      pendingAnswers.add(pendingAnswer)
    },
    settled: async () => void (await Promise.all(pendingAnswers)),
  }
}
