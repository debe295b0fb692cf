/** Data of the conversation screen: head and sessions, current or past, and the length of the log. */
import type { Client, Conversation, LiveEvent, Session } from 'colloquy/client'
import { useMemo, useState } from 'react'
import { useClient } from '../../connection/client.tsx'
import { useLiveEvents } from '../../connection/use-live.ts'
import { useResource } from '../../connection/use-resource.ts'
import { useCompacting } from './use-compacting.ts'

export interface SessionBrief {
  id: string
  agentName: string
  agentType: string
  status: string
  run?: Session['run']
}

export interface ConversationState {
  /** The head at the viewed version. */
  head: Omit<Conversation, 'version' | 'activeAt'> | undefined
  /** The current head. */
  now: Conversation | undefined
  /** The newest version. */
  version: number
  sessions: readonly SessionBrief[]
  /** Sessions of the parent conversation of a branch. */
  parentSessions: readonly SessionBrief[]
  branches: readonly Conversation[]
  runs: readonly RunningRun[]
  /** Sessions being compacted. */
  compacting: readonly string[]
  error: unknown
  reload(): void
}

export type RunningRun = Awaited<ReturnType<Client['runs']['list']>>['items'][number]

export function useConversation(id: string, at: number | undefined): ConversationState {
  const client = useClient()
  const [seen, setSeen] = useState(0)
  const concerns = (event: LiveEvent) => event.conversationId === id
  const changesHead = (event: LiveEvent) => concerns(event) && !quietTypes.has(event.type)

  const compacting = useCompacting(id)
  /** Runs that ended since the last read, so that a reload is not needed at once. */
  const [ended, setEnded] = useState<ReadonlySet<string>>(new Set())
  useLiveEvents(event => {
    if (!concerns(event)) return
    setSeen(before => Math.max(before, event.version))
    if (event.type === 'run.ended') setEnded(before => new Set(before).add(String(event.event?.runId)))
  })
  const now = useResource(
    `conversation ${id}`,
    signal => client.conversations.get({ conversationId: id }, { signal }),
    changesHead,
  )
  const past = useResource(`past ${id} ${at}`, async signal => {
    if (at === undefined) return undefined
    const moment = { from: at, to: at, limit: 1 }
    const [then, { items }] = await Promise.all([
      client.conversations.at({ conversationId: id, version: at, query: { limit: 1 } }, { signal }),
      client.conversations.events({ conversationId: id, query: moment }, { signal }),
    ])
    return { ...then, moment: items[0]?.at }
  })
  const sessions = useResource(
    `sessions ${id}`,
    signal => client.sessions.list({ query: { conversationId: id, limit: 200 } }, { signal }),
    event => concerns(event) && (event.type.startsWith('session.') || event.type.startsWith('run.')),
  )
  const parentId = now.data?.branchOf?.conversationId
  const parents = useResource(`parents ${parentId}`, signal =>
    parentId === undefined
      ? Promise.resolve(undefined)
      : client.sessions.list({ query: { conversationId: parentId, limit: 200 } }, { signal }),
  )
  const branches = useResource(
    `branches ${id}`,
    signal => client.conversations.list({ query: { branchesOf: id, limit: 200 } }, { signal }),
    ({ type }) => type === 'conversation.created',
  )
  const runs = useResource(
    `runs ${id}`,
    signal => client.runs.list({ query: { conversation: id } }, { signal }),
    event => concerns(event) && event.type.startsWith('run.'),
  )
  const head = at === undefined ? now.data : past.data?.conversation
  const moment = past.data?.moment
  const shownBranches = useMemo(() => {
    const all = branches.data?.items ?? none
    if (at === undefined) return all
    // A past view shows neither branches made later nor what became of the earlier ones.
    return all.filter(branch => moment !== undefined && branch.createdAt <= moment)
  }, [branches.data, at, moment])
  const shownSessions = at === undefined ? sessions.data?.items : past.data?.sessions
  return {
    head,
    now: now.data,
    version: Math.max(seen, now.data?.version ?? 0),
    sessions: useMemo(() => shownSessions ?? [], [shownSessions]),
    parentSessions: parents.data?.items ?? none,
    branches: shownBranches,
    runs: useMemo(() => runs.data?.items.filter(({ runId }) => !ended.has(runId)) ?? none, [runs.data, ended]),
    compacting,
    error: now.error ?? past.error,
    reload: now.reload,
  }
}

const none: readonly never[] = []
/** Events that change nothing in the head. */
const quietTypes: ReadonlySet<string> = new Set([
  'message.added',
  'session.acknowledged',
  'request.built',
  'file.read',
  'run.started',
  'run.ended',
])
