/** The server's figures, every few seconds while somebody looks, and a while back. */
import { useEffect, useState } from 'react'
import { useClient } from '../../connection/client.tsx'
import { parseMetrics, type Sample } from './metrics.ts'

const everyMs = 3000
const kept = 100

export function useSamples(): { samples: readonly Sample[]; error: unknown } {
  const client = useClient()
  const [samples, setSamples] = useState<readonly Sample[]>([])
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const ending = new AbortController()
    const { signal } = ending
    let timer: ReturnType<typeof setTimeout> | undefined
    async function read(): Promise<void> {
      if (document.visibilityState === 'visible') {
        try {
          const text = await client.operations.metrics({}, { signal })
          const sample = parseMetrics(text, Date.now())
          setSamples(before => [...before.slice(1 - kept), sample])
          setError(undefined)
        } catch (problem) {
          if (!signal.aborted) setError(problem)
        }
      }
      if (!signal.aborted) timer = setTimeout(read, everyMs)
    }
    read()
    return () => {
      ending.abort()
      clearTimeout(timer)
    }
  }, [client])
  return { samples, error }
}
