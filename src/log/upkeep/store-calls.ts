/** Builds the calls that the rest of the program makes on a store from the methods of the port. */
import type { Directory } from '../directory.ts'
import { maximumIdBytes } from '../events/id.ts'
import type { Store, StoreCalls } from '../store.ts'
import { expiring } from './retention.ts'
import { upkeepCalls } from './upkeep-calls.ts'

export function storeCalls(store: Store, { clock }: { clock: () => number }): StoreCalls {
  const run: Store['upkeep'] = (operation, input, onProgress) => store.upkeep(operation, input, onProgress)
  const message: StoreCalls['message'] = (project, id) => store.message(project, id)
  const conversation: StoreCalls['conversation'] = async (project, id) =>
    (await store.heads({ of: 'conversations', project, id })).items[0]
  return {
    append: proposal => store.append(proposal),
    read: range => store.read(range),
    subscribe: options => store.subscribe(options),
    position: () => store.position(),

    claim: request => store.claim(request),
    claimAny: request => store.claimAny(request),
    renew: request => store.renew(request),
    release: request => store.release(request),
    holderOf: request => store.holderOf(request),

    announceNode: node => store.putNode(node),
    forgetNode: id => store.putNode({ id }),
    nodes: () => store.nodes(),

    messages: (window, page) => store.messages(window, page),
    measure: window => store.measure(window),
    message,

    ...headCalls(store),
    conversation,

    search: query => store.search({ of: 'messages', ...query }),
    searchTitles: query => store.search({ of: 'titles', ...query }),

    ...upkeepCalls({ run, message, conversation, clock }),
    upkeep: run,
    ...(store.alone && { alone: (project, name, work) => store.alone!(project, name, work) }),
    queue: () => store.queue(),
    close: () => store.close(),
  }
}

type HeadCalls = Omit<Directory, 'conversation' | 'totals'> &
  Pick<StoreCalls, 'expiring' | 'archivable' | 'due' | 'spending' | 'spendingOf'>

function headCalls(store: Store): HeadCalls {
  return {
    conversationOf: async (project, workItem) =>
      (await store.heads({ of: 'conversations', project, workItem })).items[0],
    conversations: query => store.heads({ of: 'conversations', ...query }),
    workItems: ({ type, featureId, states, ...query }) =>
      store.heads({
        ...{ of: 'conversations', ...query },
        work: { type, ...(featureId !== undefined && { featureId }), ...(states && { states }) },
      }),
    session: async (project, id) => (await store.heads({ of: 'sessions', project, id })).items[0],
    sessionByKey: async (project, key) => (await store.heads({ of: 'sessions', project, key })).items[0],
    sessions: query => store.heads({ of: 'sessions', ...query }),
    due: (project, dueAt, page) => store.heads({ of: 'conversations', project, dueAt, ...page }),
    expiring: (project, now, limit) => expiring(store, { project, now, limit }),
    async archivable(project, due, page) {
      const { items: ids, next } = await store.upkeep('archivable', { project, ...due, ...page })
      const pages = await Promise.all(ids.map(id => store.heads({ of: 'conversations', project, id })))
      return { items: pages.flatMap(({ items }) => items), ...(next !== undefined && { next }) }
    },
    async projects() {
      const projects = await store.upkeep('projects', undefined)
      return projects.filter(id => Buffer.byteLength(id) <= maximumIdBytes).sort()
    },
    landmark: (project, conversationId, version) => store.upkeep('landmark', { project, conversationId, version }),
    spending: project => store.upkeep('spending', { project }),
    spendingOf: (project, conversationIds) => store.upkeep('spendingOf', { project, conversationIds }),
  }
}
