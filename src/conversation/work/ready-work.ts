import type { ConversationHead } from '../../log/views/conversation.ts'
import { agentFor } from '../../log/views/work/state-transitions.ts'
import type { BeadWork, FeatureWork, WorkAttempts } from '../../log/views/work/work.ts'
import { isDone } from './beads.ts'
import type { ReadyItem } from './item-views.ts'
import { graphOf } from './tasks.ts'
import type { WorkAccess, WorkHead } from './work-access.ts'

export interface ReadyQuery {
  /** Default both. */
  kinds?: ReadonlyArray<'task' | 'bead'>
  /** Only tasks of this feature. */
  featureId?: string
  /** Only items in these states. */
  states?: readonly string[]
  /** Default 50. */
  limit?: number
}

export async function readyWork(access: WorkAccess, query: ReadyQuery = {}): Promise<ReadyItem[]> {
  const { kinds = ['task', 'bead'], limit = 50 } = query
  const [tasks, beads] = await Promise.all([
    kinds.includes('task') ? readyTasks(access, query) : [],
    kinds.includes('bead') && query.featureId === undefined ? readyBeads(access, query, limit) : [],
  ])
  // Both come in order of age.
  return [...tasks, ...beads].sort((a, b) => a.priority - b.priority).slice(0, limit)
}

async function readyTasks(access: WorkAccess, { featureId, states }: ReadyQuery): Promise<ReadyItem[]> {
  const now = access.engine.clock()
  const found: ReadyItem[] = []
  for await (const head of featuresOf(access, featureId)) {
    const { workItem } = head.info
    if (workItem.type !== 'feature') continue
    const moved = await access.movedTasks(workItem.featureId)
    for (const task of graphOf(workItem.featureId, head, moved).tasks) {
      const { taskId, title, state, priority, since, attempts, conversationId } = task
      const agent = agentFor('task', state)
      if (agent === undefined || (state === 'planning' && !task.isReady) || isLater(attempts, now)) continue
      if (states && !states.includes(state)) continue
      const own = moved.get(taskId)
      if (own && own.info.status !== 'active') continue
      found.push({
        item: { type: 'task', featureId: workItem.featureId, taskId },
        title,
        state,
        priority,
        agent: agent === 'dev' ? (task.agent ?? agent) : agent,
        ...(since !== undefined && { since }),
        ...(attempts && { attempts }),
        ...(conversationId !== undefined && { conversationId }),
        ...(own && { version: own.version }),
      })
    }
  }
  return found
}

async function* featuresOf(access: WorkAccess, featureId: string | undefined): AsyncGenerator<WorkHead<FeatureWork>> {
  const states = ['planning', 'in_progress']
  if (featureId !== undefined) {
    const head = await access.feature(featureId)
    if (head.info.status === 'active' && states.includes(head.info.work.state)) yield head
    return
  }
  for await (const head of access.walk({ type: 'feature', states, status: ['active'] })) {
    yield head as WorkHead<FeatureWork>
  }
}

/** Walks in order of priority and age, and looks at dependencies on the way: what is far down is never read. */
async function readyBeads(access: WorkAccess, { states }: ReadyQuery, limit: number): Promise<ReadyItem[]> {
  const now = access.engine.clock()
  const wanted = ['open', 'in_progress'].filter(state => !states || states.includes(state))
  if (wanted.length === 0) return []
  const known = new Map<string, Promise<boolean>>()
  const done = (beadId: string) => {
    const asked = known.get(beadId) ?? access.find({ type: 'bead', beadId }).then(isDone)
    known.set(beadId, asked)
    return asked
  }
  const found: ReadyItem[] = []
  for await (const head of access.walk({ type: 'bead', states: wanted, status: ['active'] })) {
    const { info, version } = head as ConversationHead & { info: { work: BeadWork } }
    const { work, workItem, id: conversationId } = info
    if (workItem.type !== 'bead' || isLater(work.attempts, now)) continue
    if (!(await Promise.all(work.dependencies.map(done))).every(Boolean)) continue
    const { title, state, priority, agent = agentFor('bead', state)!, since, attempts } = work
    found.push({
      item: workItem,
      title,
      state,
      priority,
      agent,
      since,
      ...(attempts && { attempts }),
      conversationId,
      version,
    })
    if (found.length >= limit) break
  }
  return found
}

function isLater(attempts: WorkAttempts | undefined, now: number): boolean {
  return attempts?.notBefore !== undefined && Date.parse(attempts.notBefore) > now
}
