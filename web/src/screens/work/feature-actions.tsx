/** Actions on a feature: start, stop or resume its team. */
import { useEffect, useState } from 'react'
import { ask } from '../../components/ask.tsx'
import { tell, tellFailure } from '../../components/notices.tsx'
import { useClient, useMe } from '../../connection/client.tsx'
import type { FeatureSummary } from './types.ts'

interface Props {
  feature: FeatureSummary
  /** True when no agent appears to be working on it. */
  isQuiet: boolean
}

export function FeatureActions({ feature: { featureId, name, state }, isQuiet }: Props) {
  const client = useClient()
  const me = useMe()
  const isLeft = useLasting(isQuiet)
  if (!me || me.scope === 'read' || state === 'done') return null
  const run = () => client.building.run({ featureId, body: { retries: true } })
  const begin = async () => {
    const isMeant = await ask({
      title: `Set a team to work on “${name}”?`,
      text: 'Agents plan, build, review and merge it in the folder of the project, and run its checks there. It goes on by itself and can be stopped.',
      confirm: 'Set to work',
    })
    if (!isMeant) return
    await run()
    tell('The team is at work.', () => client.building.stop({ featureId }))
  }
  const stop = async () => {
    const isMeant = await ask({
      title: `Stop the team on “${name}”?`,
      text: 'What is done is kept, and it goes on from there when it is set to work again.',
      confirm: 'Stop',
    })
    if (!isMeant) return
    await client.building.stop({ featureId })
    tell('The team stops.', ...(me.scope === 'admin' ? [run] : []))
  }
  return (
    <div className="row">
      {me.scope === 'admin' && (state !== 'in_progress' || isLeft) && (
        <button type="button" className="button button--small" onClick={() => void begin().catch(tellFailure)}>
          {state === 'planning' ? 'Set a team to work…' : 'Go on…'}
        </button>
      )}
      {state === 'in_progress' && (
        <button type="button" className="button button--small" onClick={() => void stop().catch(tellFailure)}>
          Stop…
        </button>
      )}
    </div>
  )
}

/** Between two agents and during checks, a feature briefly has no agent; that is not idle. */
const momentMs = 8000

function useLasting(isSo: boolean): boolean {
  const [isLong, setLong] = useState(false)
  useEffect(() => {
    setLong(false)
    if (!isSo) return
    const timer = setTimeout(() => setLong(true), momentMs)
    return () => clearTimeout(timer)
  }, [isSo])
  return isLong
}
