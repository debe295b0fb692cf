/** What a router's model answers, read leniently and checked strictly. Pure: the model is asked elsewhere. */

export type RouteDecision =
  | { end: true; reason: string }
  | { end: false; agents: string[]; phase?: string; reason: string; instruction?: string }

/** What a route may say. */
interface RouteChoices {
  agents: readonly string[]
  /** The phase it is in; null where the project has none. */
  phase: string | null
  /** The phases that may follow. */
  legalPhases: readonly string[]
}

/** Stands in place of agents where nothing is left to do. */
export const endWord = 'END'

const longestText = 20_000

export function readRoute(
  value: unknown,
  text: string,
  choices: RouteChoices,
): { value: RouteDecision } | { problem: string } {
  if (value === undefined || typeof value !== 'object' || value === null) {
    if (/^\W*END\W*$/.test(text)) return { value: { end: true, reason: '' } }
    return { problem: 'there is no JSON object in it.' }
  }
  const answer = Array.isArray(value) ? { agents: value } : (value as Record<string, unknown>)
  const named = namesIn(answer.agents ?? answer.agent)
  if (!named) return { problem: `"agents" must be a list of names from ${list(choices.agents)}, or ["${endWord}"].` }
  const reason = textIn(answer.reason)
  if (named.some(isEnd)) {
    if (named.length > 1) return { problem: `"${endWord}" stands alone: it cannot be routed to with others.` }
    return { value: { end: true, reason } }
  }
  const agents: string[] = []
  for (const name of named) {
    const agent = agentNamed(name, choices.agents)
    if (agent === undefined)
      return { problem: `there is no agent ${JSON.stringify(name)}; there are ${list(choices.agents)}.` }
    if (!agents.includes(agent)) agents.push(agent)
  }
  if (agents.length === 0)
    return { problem: `"agents" is empty. Name at least one agent, or answer ["${endWord}"] when all is done.` }
  if (reason === '') return { problem: '"reason" is missing: say in a sentence why.' }
  const phase = phaseIn(answer.phase, choices)
  if ('problem' in phase) return phase
  const instruction = textIn(answer.instruction)
  return {
    value: { end: false, agents, ...phase, reason, ...(instruction !== '' && { instruction }) },
  }
}

function namesIn(value: unknown): string[] | undefined {
  if (typeof value === 'string') return value.split(',').map(bare).filter(Boolean)
  if (!Array.isArray(value)) return undefined
  return value.every(one => typeof one === 'string') ? value.map(bare).filter(Boolean) : undefined
}

/** Without the at sign that some write before names. */
function bare(name: string): string {
  return name.trim().replace(/^@/, '')
}

function isEnd(name: string): boolean {
  return name.toUpperCase() === endWord
}

/** By its name as it is written; else by letters alone, if that leaves no doubt. */
function agentNamed(name: string, agents: readonly string[]): string | undefined {
  if (agents.includes(name)) return name
  const alike = agents.filter(agent => agent.toLowerCase() === name.toLowerCase())
  return alike.length === 1 ? alike[0] : undefined
}

function phaseIn(value: unknown, { phase, legalPhases }: RouteChoices): { phase?: string } | { problem: string } {
  if (phase === null || value === undefined || value === null || value === '') return {}
  const wanted = typeof value === 'string' ? value.trim() : value
  const known = [phase, ...legalPhases]
  const found = known.find(one => typeof wanted === 'string' && one.toLowerCase() === wanted.toLowerCase())
  if (found !== undefined) return { phase: found }
  return {
    problem: `from phase ${phase} it cannot go to ${JSON.stringify(wanted)}; it may stay, or go to ${list(legalPhases)}.`,
  }
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value.trim().slice(0, longestText) : ''
}

function list(names: readonly string[]): string {
  return names.length === 0 ? '(none)' : names.map(name => JSON.stringify(name)).join(', ')
}
