/**
 * Tokens and cost by agent, model and conversation, as providers reported them.
 *
 * Sums of the store are read. A store without sums has them folded from the log, and cached per conversation up to a
 * version, so that the next call reads only newer events.
 */
import type { ProjectSpending, Spending } from '../log/accounts.ts'
import type { Listed } from '../log/directory.ts'
import type { StoreCalls } from '../log/store.ts'
import type { ConversationHead } from '../log/views/conversation.ts'
import { type Spent, spentIn } from '../log/views/spending.ts'

export interface Totals extends ProjectSpending {
  /** One page, the most recently active first. */
  conversations: Record<string, Spending>
  next?: string
}

export interface TotalsPage {
  /** Number of conversations per page. Default 100. */
  limit?: number
  cursor?: string
}

interface CachedTotals {
  version: number
  spent: Spending
  agents: Map<string, Spending>
  models: Map<string, Spending>
}

const readSize = 1000
const pageSize = 200
/** Max number of conversations in the cache. */
const maxCached = 50_000

export function projectTotals(store: StoreCalls): (project: string, page?: TotalsPage) => Promise<Totals> {
  const cache = new Map<string, CachedTotals>()

  async function foldConversation(project: string, { info, version }: ConversationHead): Promise<CachedTotals> {
    const key = JSON.stringify([project, info.id])
    const cached = cache.get(key)
    if (cached?.version === version) return cached
    const start: CachedTotals = {
      version: info.branchOf?.version ?? 0,
      spent: noSpending(),
      agents: new Map(),
      models: new Map(),
    }
    // A log shorter than the cache was purged and restored, or the store was. The clone lets two calls fold at once.
    const isReusable = cached !== undefined && cached.version <= version
    let total = structuredClone(isReusable ? cached : start)
    let mayBeErased = isReusable
    while (total.version < version) {
      const range = { project, conversationId: info.id, from: total.version + 1, to: version, limit: readSize }
      const events = await store.read(range)
      if (events.length === 0) break
      if (mayBeErased && events.some(({ event }) => event.type === 'message.erased')) {
        // The cached sums still count the erased message.
        total = start
        mayBeErased = false
        continue
      }
      for (const { event } of events) count(total, spentIn(event))
      total.version = events.at(-1)!.version
    }
    cache.delete(key)
    cache.set(key, total)
    if (cache.size > maxCached) cache.delete(cache.keys().next().value!)
    return total
  }

  async function foldProject(project: string): Promise<ProjectSpending> {
    const sum = noSpending()
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
        const total = await foldConversation(project, head)
        add(sum, total.spent)
        for (const [name, spent] of total.agents) add(spendingOf(agents, name), spent)
        for (const [name, spent] of total.models) add(spendingOf(models, name), spent)
      }
      cursor = page.next
    } while (cursor)
    return { project: sum, agents: Object.fromEntries(agents), models: Object.fromEntries(models) }
  }

  async function ofConversations(project: string, heads: readonly ConversationHead[]) {
    const ids = heads.map(({ info }) => info.id)
    const sums = await store.spendingOf(project, ids)
    if (sums) return sums
    const spendings: Record<string, Spending> = {}
    for (const head of heads) spendings[head.info.id] = { ...(await foldConversation(project, head)).spent }
    return spendings
  }

  return async (project, { limit = 100, cursor } = {}) => {
    const sums = (await store.spending(project)) ?? (await foldProject(project))
    const page = await store.conversations({ project, limit, ...(cursor !== undefined && { cursor }) })
    return {
      ...sums,
      conversations: await ofConversations(project, page.items),
      ...(page.next !== undefined && { next: page.next }),
    }
  }
}

function count(total: CachedTotals, spent: Spent | undefined): void {
  if (!spent) return
  add(total.spent, spent)
  add(spendingOf(total.agents, spent.agent), spent)
  if (spent.model !== undefined) add(spendingOf(total.models, spent.model), spent)
}

function noSpending(): Spending {
  return { messages: 0, tokens: 0, input: 0, output: 0, cost: 0, calls: 0, unpriced: 0 }
}

function spendingOf(map: Map<string, Spending>, name: string): Spending {
  const spending = map.get(name) ?? noSpending()
  map.set(name, spending)
  return spending
}

function add(sum: Spending, more: Spending): void {
  for (const key of Object.keys(sum) as Array<keyof Spending>) sum[key] += more[key]
}
