/**
 * Tokens and cost by agent, model and conversation, as providers reported them.
 *
 * Where the store keeps sums, they are read. Where it keeps none they are folded from the log, and kept per conversation
 * up to a version, so that asking again reads only what is new.
 */
import type { ProjectSpending, Spending } from '../log/accounts.ts'
import type { Listed } from '../log/directory.ts'
import type { Store } from '../log/store.ts'
import type { ConversationHead } from '../log/views/conversation.ts'
import { type Spent, spentIn } from '../log/views/spending.ts'

export interface Totals extends ProjectSpending {
  /** A page of them, the most recently active first. */
  conversations: Record<string, Spending>
  next?: string
}

export interface TotalsPage {
  /** How many conversations to tell of. Default 100. */
  limit?: number
  cursor?: string
}

interface Kept {
  version: number
  spent: Spending
  agents: Map<string, Spending>
  models: Map<string, Spending>
}

const readSize = 1000
const pageSize = 200
/** Conversations remembered; the others are read again when asked. */
const mostKept = 50_000

export function projectTotals(store: Store): (project: string, page?: TotalsPage) => Promise<Totals> {
  const kept = new Map<string, Kept>()

  async function folded(project: string, { info, version }: ConversationHead): Promise<Kept> {
    const key = JSON.stringify([project, info.id])
    const known = kept.get(key)
    if (known?.version === version) return known
    const start: Kept = {
      version: info.branchOf?.version ?? 0,
      spent: nothing(),
      agents: new Map(),
      models: new Map(),
    }
    // A shorter log than before is another one: purged and restored, or a store put back. A copy, because another question
    // may be reading on at the same moment.
    const isKnown = known !== undefined && known.version <= version
    let total = isKnown ? structuredClone(known) : structuredClone(start)
    let mayBeErased = isKnown
    while (total.version < version) {
      const range = { project, conversationId: info.id, from: total.version + 1, to: version, limit: readSize }
      const events = await store.read(range)
      if (events.length === 0) break
      if (mayBeErased && events.some(({ event }) => event.type === 'message.erased')) {
        // What is gone was counted before.
        total = start
        mayBeErased = false
        continue
      }
      for (const { event } of events) count(total, spentIn(event))
      total.version = events.at(-1)!.version
    }
    kept.delete(key)
    kept.set(key, total)
    if (kept.size > mostKept) kept.delete(kept.keys().next().value!)
    return total
  }

  async function fold(project: string): Promise<ProjectSpending> {
    const all = nothing()
    const agents = new Map<string, Spending>()
    const models = new Map<string, Spending>()
    let cursor: string | undefined
    do {
      const page: Listed<ConversationHead> = await store.conversations({
        project,
        limit: pageSize,
        ...(cursor && { cursor }),
      })
      for (const head of page.items) {
        const total = await folded(project, head)
        add(all, total.spent)
        for (const [name, spent] of total.agents) add(of(agents, name), spent)
        for (const [name, spent] of total.models) add(of(models, name), spent)
      }
      cursor = page.next
    } while (cursor)
    return { project: all, agents: Object.fromEntries(agents), models: Object.fromEntries(models) }
  }

  async function ofConversations(project: string, heads: readonly ConversationHead[]) {
    const ids = heads.map(({ info }) => info.id)
    if (store.spendingOf) return store.spendingOf(project, ids)
    const found: Record<string, Spending> = {}
    for (const head of heads) found[head.info.id] = { ...(await folded(project, head)).spent }
    return found
  }

  return async (project, { limit = 100, cursor } = {}) => {
    const sums = store.spending ? await store.spending(project) : await fold(project)
    const page = await store.conversations({ project, limit, ...(cursor !== undefined && { cursor }) })
    return {
      ...sums,
      conversations: await ofConversations(project, page.items),
      ...(page.next !== undefined && { next: page.next }),
    }
  }
}

function count(total: Kept, spent: Spent | undefined): void {
  if (!spent) return
  add(total.spent, spent)
  add(of(total.agents, spent.agent), spent)
  if (spent.model !== undefined) add(of(total.models, spent.model), spent)
}

function nothing(): Spending {
  return { messages: 0, tokens: 0, input: 0, output: 0, cost: 0, calls: 0, unpriced: 0 }
}

function of(map: Map<string, Spending>, name: string): Spending {
  const known = map.get(name) ?? nothing()
  map.set(name, known)
  return known
}

function add(sum: Spending, more: Spending): void {
  for (const key of Object.keys(sum) as Array<keyof Spending>) sum[key] += more[key]
}
