/**
 * The addressees of an event. Stored with the event and never changed.
 *
 * `log/visibility.ts` alone decides which sessions see it.
 */
import { z } from 'zod'
import { Id } from './id.ts'

export const Audience = z.discriminatedUnion('to', [
  z.object({ to: z.literal('everyone') }),
  z.object({ to: z.literal('session'), sessionId: Id }),
  z.object({ to: z.literal('agents'), agents: z.array(Id).min(1).max(64) }),
  z.object({ to: z.literal('delegation'), delegationId: Id }),
  /** For the log and its audit only: no agent's model sees it. */
  z.object({ to: z.literal('internal') }),
])
export type Audience = z.infer<typeof Audience>

export const everyone: Audience = { to: 'everyone' }

/** Returns one string per audience, equal for equal audiences: the key of its running token sums. */
export function audienceKey(audience: Audience): string {
  switch (audience.to) {
    case 'everyone':
      return 'everyone'
    case 'session':
      return `session ${audience.sessionId}`
    case 'agents':
      return `agents ${JSON.stringify([...new Set(audience.agents)].sort())}`
    case 'delegation':
      return `delegation ${audience.delegationId}`
    case 'internal':
      return 'internal'
  }
}

/** Parses the key of an audience; undefined for any other text. */
export function audienceOfKey(key: string): Audience | undefined {
  if (key === 'everyone' || key === 'internal') return { to: key }
  const [to, rest] = [key.slice(0, key.indexOf(' ')), key.slice(key.indexOf(' ') + 1)]
  if (rest === '') return undefined
  if (to === 'session') return { to, sessionId: rest }
  if (to === 'delegation') return { to, delegationId: rest }
  return to === 'agents' ? agentsIn(rest) : undefined
}

/** True when a text is the JSON of the audience with this key. */
export function isAudienceOf(text: string, key: string): boolean {
  const audience = Audience.safeParse(parsed(text)).data
  return audience !== undefined && audienceKey(audience) === key
}

function agentsIn(text: string): Audience | undefined {
  return Audience.safeParse({ to: 'agents', agents: parsed(text) }).data
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
