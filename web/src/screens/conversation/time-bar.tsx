/** Time travel: a slider over the versions. The version stands in the address, and every panel follows it. */
import { useEffect, useState } from 'react'
import { Time } from '../../components/time.tsx'
import { useClient } from '../../connection/client.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { travelTo } from '../../router/at.ts'
import './time-bar.css'

interface Props {
  conversationId: string
  at: number
  version: number
}

/** Panels wait until the slider rests. */
const restMs = 150

export function TimeBar({ conversationId, at, version }: Props) {
  const client = useClient()
  const [place, setPlace] = useState(at)
  useEffect(() => setPlace(at), [at])
  useEffect(() => {
    if (place === at) return
    const timer = setTimeout(() => travelTo(place), restMs)
    return () => clearTimeout(timer)
  }, [place, at])
  const moment = useResource(`moment ${conversationId} ${at}`, signal =>
    client.conversations.events({ conversationId, query: { from: at, to: at, limit: 1 } }, { signal }),
  )
  const recorded = moment.data?.items[0]
  const step = (by: number) => travelTo(Math.max(1, Math.min(version, at + by)))
  return (
    <section className="time-bar" aria-label="Time travel">
      <span className="badge badge--warn">as it was</span>
      <button type="button" className="button button--small" aria-label="One version back" onClick={() => step(-1)}>
        ‹
      </button>
      <input
        className="time-bar__slider"
        type="range"
        min={1}
        max={Math.max(1, version)}
        value={Math.min(place, version)}
        aria-label="Version"
        aria-valuetext={`Version ${place} of ${version}`}
        onChange={event => setPlace(Number(event.target.value))}
      />
      <button type="button" className="button button--small" aria-label="One version on" onClick={() => step(1)}>
        ›
      </button>
      <span className="numbers small time-bar__place">
        v{place} of {version}
        {recorded && (
          <>
            {' '}
            · <Time at={recorded.at} /> · {recorded.event.type}
          </>
        )}
      </span>
      <button type="button" className="button button--small" onClick={() => travelTo(undefined)}>
        Back to now
      </button>
    </section>
  )
}
