/**
 * Stands in for a person while a team works: gives or refuses leave for what agents want to do, by the project's policy or
 * by the agent `harness`. A person may answer before it does.
 */
import { z } from 'zod'
import { IllegalState } from '../../errors.ts'
import type { Model } from '../../models/model.ts'
import type { Approvals } from '../build-settings.ts'
import type { AgentManager } from '../runs/agent-manager.ts'
import type { LivePart } from '../runs/live-channel.ts'
import { tool } from '../tools/tool.ts'

export interface Harness {
  /** Looks at what a run says; answers what it asks leave for. */
  hears(agent: string, part: LivePart): void
  /** Waits for answers that are under way. */
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
  /** As the harness: the log says who gave leave. */
  agents: AgentManager
  approvals: Approvals
  /** The harness agent's own, on the feature. */
  session: () => Promise<string>
  model: Model | string | undefined
  signal: AbortSignal
  onAnswer: (leave: { agent: string; text: string; answer: string }) => void
}): Harness {
  const open = new Set<Promise<void>>()

  async function answer(agent: string, { questionId, text }: Extract<LivePart, { type: 'question' }>): Promise<void> {
    const answer = approvals === 'agent' ? await decided(agent, questionId, text) : approvals
    if (answer === undefined) return
    try {
      await agents.answer(questionId, answer)
      onAnswer({ agent, text, answer })
    } catch (error) {
      // A person was faster.
      if (!(error instanceof IllegalState)) throw error
    }
  }

  /** What the harness agent says; undefined leaves it to a person. */
  async function decided(agent: string, questionId: string, text: string): Promise<string | undefined> {
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
    hears(agent, part) {
      if (approvals === 'person' || part.type !== 'question' || part.kind !== 'approval') return
      // One that fails leaves the question open, for a person.
      const answering: Promise<void> = answer(agent, part)
        .catch(() => undefined)
        .finally(() => open.delete(answering))
      open.add(answering)
    },
    settled: async () => void (await Promise.all(open)),
  }
}
