/**
 * Sessions being compacted: read from the server first, then updated by events. A process that dies sends no event, so
 * the server is asked again while a compaction seems to run.
 */
import { useEffect, useState } from 'react'
import { useClient } from '../../connection/client.tsx'
import { useLiveEvents } from '../../connection/use-live.ts'
import { useResource } from '../../connection/use-resource.ts'

/** Compaction state by session from events, with the time of the event. */
type Told = ReadonlyMap<string, { isOn: boolean; at: number }>

const again = 15_000
/** The lease is released a moment after the closing event. */
const moment = 2000

export function useCompacting(conversationId: string): readonly string[] {
  const client = useClient()
  const [told, setTold] = useState<Told>(new Map())
  useLiveEvents(({ conversationId: where, sessionId, type }) => {
    if (where !== conversationId || sessionId === undefined) return
    const isOn = type === 'compaction.started'
    if (!isOn && type !== 'checkpoint.taken' && type !== 'compaction.failed') return
    setTold(before => new Map(before).set(sessionId, { isOn, at: performance.now() }))
  })
  const { data, reload } = useResource(`compacting ${conversationId}`, async signal => {
    const askedAt = performance.now()
    const { items } = await client.sessions.compacting({ conversationId }, { signal })
    return { items, askedAt }
  })
  const isNewer = (sessionId: string) => {
    const last = told.get(sessionId)
    return last !== undefined && last.at > (data?.askedAt ?? 0) - moment
  }
  const now = [
    ...(data?.items ?? []).filter(id => !isNewer(id)),
    ...[...told].filter(([id, { isOn }]) => isOn && isNewer(id)).map(([id]) => id),
  ]
  const isOn = now.length > 0
  useEffect(() => {
    if (!isOn) return
    const timer = setInterval(reload, again)
    return () => clearInterval(timer)
  }, [isOn, reload])
  return now
}
