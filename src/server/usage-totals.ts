/**
 * Tokens and cost by agent, model and conversation, as providers reported them.
 *
 * Folded from the log and kept per conversation up to a version, so that asking again reads only what is new.
 */
import type { z } from 'zod'
import type { Colloquy, Conversation, RecordedEvent } from '../index.ts'
import type { projects } from './contract/projects.ts'

type Totals = z.input<typeof projects.totals.answer>
type Spent = Totals['project']

interface Kept {
  version: number
  spent: Spent
  agents: Map<string, Spent>
  models: Map<string, Spent>
}

const readSize = 1000
/** Conversations remembered; the others are read again when asked. */
const mostKept = 5000

export function usageTotals(): (colloquy: Colloquy) => Promise<Totals> {
  const kept = new Map<string, Kept>()

  async function totalOf(colloquy: Colloquy, { id, version, branchOf }: Conversation): Promise<Kept> {
    const key = JSON.stringify([colloquy.project, id])
    const known = kept.get(key)
    // A shorter log than before is another one: purged and restored, or a store put back.
    const total: Kept =
      known && known.version <= version
        ? known
        : { version: branchOf?.version ?? 0, spent: nothing(), agents: new Map(), models: new Map() }
    while (total.version < version) {
      const from = total.version + 1
      const events = await colloquy.conversations.getEvents(id, { from, to: version, limit: readSize })
      if (events.length === 0) break
      for (const recorded of events) count(total, recorded)
      total.version = events.at(-1)!.version
    }
    kept.delete(key)
    kept.set(key, total)
    if (kept.size > mostKept) kept.delete(kept.keys().next().value!)
    return total
  }

  return async colloquy => {
    const project = nothing()
    const agents = new Map<string, Spent>()
    const models = new Map<string, Spent>()
    const conversations = new Map<string, Spent>()
    let cursor: string | undefined
    do {
      const page = await colloquy.conversations.listConversations({ limit: 200, ...(cursor && { cursor }) })
      for (const conversation of page.items) {
        const total = await totalOf(colloquy, conversation)
        add(project, total.spent)
        conversations.set(conversation.id, { ...total.spent })
        for (const [name, spent] of total.agents) add(of(agents, name), spent)
        for (const [name, spent] of total.models) add(of(models, name), spent)
      }
      cursor = page.next
    } while (cursor)
    return {
      project,
      agents: Object.fromEntries(agents),
      models: Object.fromEntries(models),
      conversations: Object.fromEntries(conversations),
    }
  }
}

function count(total: Kept, { event }: RecordedEvent): void {
  if (event.type === 'message.added') {
    const { usage, tokens, author, metadata } = event
    const spent: Spent = {
      messages: 1,
      tokens: tokens.count,
      input: (usage?.input ?? 0) + (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0),
      output: usage?.output ?? 0,
      cost: usage?.cost ?? 0,
      calls: usage ? 1 : 0,
      unpriced: usage && usage.cost === undefined ? 1 : 0,
    }
    add(total.spent, spent)
    add(of(total.agents, author), spent)
    if (usage) add(of(total.models, typeof metadata?.model === 'string' ? metadata.model : 'unknown'), spent)
  }
  if (event.type === 'checkpoint.taken' && event.cost !== undefined) {
    const spent = { ...nothing(), cost: event.cost, calls: 1 }
    add(total.spent, spent)
    add(of(total.agents, 'compaction'), spent)
    add(of(total.models, event.checkpoint.author), spent)
  }
}

function nothing(): Spent {
  return { messages: 0, tokens: 0, input: 0, output: 0, cost: 0, calls: 0, unpriced: 0 }
}

function of(map: Map<string, Spent>, name: string): Spent {
  const known = map.get(name) ?? nothing()
  map.set(name, known)
  return known
}

function add(sum: Spent, more: Spent): void {
  for (const key of Object.keys(sum) as Array<keyof Spent>) sum[key] += more[key]
}
