/** Samples of the server's metrics, taken every few seconds while the page is visible. */
import type { Client } from 'colloquy/client'
import { useEffect, useState } from 'react'
import { useClient } from '../../connection/client.tsx'
import { parseMetrics, type Sample } from './metrics.ts'

const everyMs = 3000
const kept = 100

export type ServerNode = Awaited<ReturnType<Client['operations']['nodes']>>['items'][number]

export type Job = Awaited<ReturnType<Client['operations']['jobs']>>['items'][number]

/** One sample: metrics and jobs of this server, and the nodes of the same store. */
export interface Look extends Sample {
  nodes: readonly ServerNode[]
  jobs: readonly Job[]
}

export function useSamples(): { samples: readonly Look[]; error: unknown } {
  const client = useClient()
  const [samples, setSamples] = useState<readonly Look[]>([])
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const ending = new AbortController()
    const { signal } = ending
    let timer: ReturnType<typeof setTimeout> | undefined
    async function read(): Promise<void> {
      if (document.visibilityState === 'visible') {
        try {
          const [text, { items: nodes }, { items: jobs }] = await Promise.all([
            client.operations.metrics({}, { signal }),
            client.operations.nodes({}, { signal }),
            client.operations.jobs({}, { signal }),
          ])
          const sample = { ...parseMetrics(text, Date.now()), nodes, jobs }
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
