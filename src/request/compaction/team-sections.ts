/**
 * The computed sections of a team: work handed to others, the routing turn, what others on the same work know, what
 * could not be looked up.
 */
import type { StateSection } from './computed-sections.ts'

/** A delegation in flight must never depend on a summary to be remembered. */
export const delegationsInFlight: StateSection = {
  name: 'delegations',
  heading: 'Delegations in flight',
  maxTokens: 1_500,
  read: ({ conversation }) =>
    (conversation?.delegations?.pending ?? []).map(
      ({ id, childId, from, to, version }) =>
        `${from} delegated to ${to} (message ${version}, delegation ${id}, conversation ${childId}); no result yet`,
    ),
}

export const currentTurn: StateSection = {
  name: 'turn',
  heading: 'Current routing turn',
  maxTokens: 500,
  read({ conversation }) {
    const open = conversation?.turns?.open
    if (!open) return []
    const done = open.completions.map(({ agent, outcome }) => `${agent} (${outcome})`)
    const waiting = open.agents.filter(agent => !open.completions.some(one => one.agent === agent))
    return [
      `turn ${open.number} of ${open.orchestrator}, since version ${open.version}`,
      ...(done.length > 0 ? [`done: ${done.join(', ')}`] : []),
      ...(waiting.length > 0 ? [`waiting for: ${waiting.join(', ')}`] : []),
    ]
  },
}

export const sharedKnowledge: StateSection = {
  name: 'shared',
  heading: 'What others on this work know',
  maxTokens: 6_000,
  read: ({ shared }) => [...(shared ?? [])],
}

export const unresolvedReferences: StateSection = {
  name: 'references',
  heading: 'References that could not be resolved',
  maxTokens: 1_000,
  read: ({ unresolved }) => [...(unresolved ?? [])],
}
