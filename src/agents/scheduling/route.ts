/** The answer of a routing model, validated. */

export type RouteDecision =
  | { end: true; reason: string }
  | { end: false; agents: string[]; phase?: string; reason: string; instruction?: string }

interface RouteChoices {
  agents: readonly string[]
  /** The current phase; null where the project has none. */
  phase: string | null
  /** The phases that may follow. */
  legalPhases: readonly string[]
}

/** Replaces the agents when nothing is left to do. */
export const endWord = 'END'

const maxTextCharacters = 20_000

export function readRoute(
  value: unknown,
  text: string,
  choices: RouteChoices,
): { value: RouteDecision } | { problem: string } {
  if (value === undefined || typeof value !== 'object' || value === null) {
    if (/^\W*END\W*$/.test(text)) return { value: { end: true, reason: '' } }
    return { problem: 'it contains no JSON object.' }
  }
  const answer = Array.isArray(value) ? { agents: value } : (value as Record<string, unknown>)
  const names = namesIn(answer.agents ?? answer.agent)
  if (!names) return { problem: `"agents" must be a list of names from ${list(choices.agents)}, or ["${endWord}"].` }
  const reason = textIn(answer.reason)
  if (names.some(isEnd)) {
    if (names.length > 1) return { problem: `"${endWord}" cannot be combined with agents.` }
    return { value: { end: true, reason } }
  }
  const agents: string[] = []
  for (const name of names) {
    const agent = findAgent(name, choices.agents)
    if (agent === undefined)
      return { problem: `there is no agent ${JSON.stringify(name)}; there are ${list(choices.agents)}.` }
    if (!agents.includes(agent)) agents.push(agent)
  }
  if (agents.length === 0)
    return { problem: `"agents" is empty. Name at least one agent, or answer ["${endWord}"] when everything is done.` }
  if (reason === '') return { problem: '"reason" is missing: give one sentence.' }
  const phase = phaseIn(answer.phase, choices)
  if ('problem' in phase) return phase
  const instruction = textIn(answer.instruction)
  return {
    value: { end: false, agents, ...phase, reason, ...(instruction !== '' && { instruction }) },
  }
}

function namesIn(value: unknown): string[] | undefined {
  if (typeof value === 'string') return value.split(',').map(withoutAt).filter(Boolean)
  if (!Array.isArray(value)) return undefined
  return value.every(name => typeof name === 'string') ? value.map(withoutAt).filter(Boolean) : undefined
}

/** Models may write an at sign before names. */
function withoutAt(name: string): string {
  return name.trim().replace(/^@/, '')
}

function isEnd(name: string): boolean {
  return name.toUpperCase() === endWord
}

/** Ignores case unless that is ambiguous. */
function findAgent(name: string, agents: readonly string[]): string | undefined {
  if (agents.includes(name)) return name
  const candidates = agents.filter(agent => agent.toLowerCase() === name.toLowerCase())
  return candidates.length === 1 ? candidates[0] : undefined
}

function phaseIn(value: unknown, { phase, legalPhases }: RouteChoices): { phase?: string } | { problem: string } {
  if (phase === null || value === undefined || value === null || value === '') return {}
  const name = typeof value === 'string' ? value.trim() : value
  const match = [phase, ...legalPhases].find(
    candidate => typeof name === 'string' && candidate.toLowerCase() === name.toLowerCase(),
  )
  if (match !== undefined) return { phase: match }
  return {
    problem: `phase ${phase} cannot change to ${JSON.stringify(name)}; keep it, or choose from ${list(legalPhases)}.`,
  }
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value.trim().slice(0, maxTextCharacters) : ''
}

function list(names: readonly string[]): string {
  return names.length === 0 ? '(none)' : names.map(name => JSON.stringify(name)).join(', ')
}
