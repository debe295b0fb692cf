/** Beads: a filtered list by priority, live. */

import { useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { When } from '../../components/when.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { counted } from '../../format.ts'
import { Link } from '../../router/router.tsx'
import { conversationPlace } from '../places.ts'
import { badgeOf, stateName } from './states.ts'
import type { BeadSummary } from './types.ts'
import { isOfWork } from './work.tsx'

const states = ['open', 'in_progress', 'parked', 'done'] as const
const pageSize = 200

export function Beads() {
  const client = useClient()
  const [state, setState] = useState('')
  const [words, setWords] = useState('')
  const [pages, setPages] = useState(1)
  const { data, error, reload } = useResource(
    `beads ${state} ${pages}`,
    async signal => {
      const items: BeadSummary[] = []
      let cursor: string | undefined
      for (let page = 0; page < pages; page++) {
        const query = {
          limit: pageSize,
          ...(state !== '' && { states: state }),
          ...(cursor !== undefined && { cursor }),
        }
        const { items: more, next } = await client.work.beads({ query }, { signal })
        items.push(...more)
        cursor = next
        if (next === undefined) break
      }
      return { items, hasMore: cursor !== undefined }
    },
    isOfWork,
  )
  const shown = data?.items.filter(bead => isFound(bead, words)) ?? []
  return (
    <div className="work__beads">
      <div className="row">
        <label className="row">
          State
          <select
            className="field"
            value={state}
            onChange={event => {
              setState(event.target.value)
              setPages(1)
            }}
          >
            <option value="">all</option>
            {states.map(one => (
              <option key={one} value={one}>
                {stateName(one)}
              </option>
            ))}
          </select>
        </label>
        <label className="row grow">
          Words
          <input
            className="field grow"
            type="search"
            value={words}
            onChange={event => setWords(event.target.value)}
            placeholder="title, id, label, agent"
          />
        </label>
        <span className="quiet small" role="status">
          {data ? counted(shown.length, 'bead') : ''}
        </span>
      </div>
      {error !== undefined && !data && <Failure error={error} onRetry={reload} />}
      {data && shown.length === 0 && <p className="quiet">No bead is like that.</p>}
      <ul className="work__rows" aria-busy={!data}>
        {shown.map(bead => (
          <BeadLine key={bead.beadId} bead={bead} />
        ))}
      </ul>
      {data?.hasMore && (
        <button type="button" className="button" onClick={() => setPages(pages + 1)}>
          More
        </button>
      )}
    </div>
  )
}

function isFound({ title, beadId, labels = [], agent = '', kind = '' }: BeadSummary, words: string): boolean {
  const text = [title, beadId, agent, kind, ...labels].join(' ').toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word))
}

function BeadLine({ bead }: { bead: BeadSummary }) {
  const project = useProject()
  const { beadId, title, state, priority, agent, kind, labels = [], dependencies, conversationId, since } = bead
  return (
    <li>
      <span className={`${badgeOf(state)} work__bead-state`}>{stateName(state)}</span>
      <span className="grow work__bead">
        <Link to={conversationPlace(project, conversationId)}>{title}</Link>
        <span className="quiet small">
          <code>{beadId}</code> · priority {priority}
          {kind !== undefined && <> · {kind}</>}
          {agent !== undefined && <> · for {agent}</>}
          {dependencies.length > 0 && <> · waits for {dependencies.join(', ')}</>}
        </span>
      </span>
      <span className="row">
        {labels.map(label => (
          <span key={label} className="badge">
            {label}
          </span>
        ))}
        <span className="quiet small">
          <When at={since} />
        </span>
      </span>
    </li>
  )
}
