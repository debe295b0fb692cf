/** A compaction in the timeline: tokens saved, and on demand its checkpoint. */
import type { CheckpointItem, CheckpointTaken } from 'colloquy/client'
import { Fold } from '../components/fold.tsx'
import { Time } from '../components/time.tsx'
import { counted, dollars, duration } from '../format.ts'
import { Link } from '../router/router.tsx'
import './compaction-row.css'
import { savings } from './savings.ts'

interface Props {
  event: CheckpointTaken
  agent: string
  version: number
  at: string
  linkTo(version: number): string
}

export function CompactionRow({ event, agent, version, at, linkTo }: Props) {
  const { checkpoint, durationMs, cost } = event
  return (
    <div className="compaction">
      <div className="compaction__line">
        <Fold
          summary={
            <span>
              <span className="badge badge--note">checkpoint {checkpoint.number}</span> <b>{agent}</b> ·{' '}
              {savings(event)}
            </span>
          }
        >
          {() => (
            <>
              <p className="small quiet">
                Stands for versions {checkpoint.from} to {checkpoint.upTo} ({counted(checkpoint.messages, 'message')}),
                which stay in the log. Written by {checkpoint.author} in {duration(durationMs)}
                {cost === undefined ? '' : `, ${dollars(cost)}`}.
              </p>
              <Items items={checkpoint.items} linkTo={linkTo} />
            </>
          )}
        </Fold>
        <span className="divider__place numbers quiet">
          v{version} · <Time at={at} />
        </span>
      </div>
    </div>
  )
}

const titles: Record<CheckpointItem['section'], string> = {
  goal: 'Goal',
  constraints: 'Constraints',
  completed: 'Completed',
  inProgress: 'In progress',
  pending: 'Pending',
  decisions: 'Decisions',
  blockers: 'Blockers',
  deadEnds: 'Dead ends',
  facts: 'Facts',
}

function Items({ items, linkTo }: { items: readonly CheckpointItem[]; linkTo(version: number): string }) {
  const open = items.filter(item => item.resolved === undefined)
  const sections = Object.entries(titles)
    .map(([section, title]) => ({ title, found: open.filter(item => item.section === section) }))
    .filter(({ found }) => found.length > 0)
  return (
    <dl className="compaction__items">
      {sections.map(({ title, found }) => (
        <div key={title}>
          <dt>{title}</dt>
          {found.map(({ id, text, sources }) => (
            <dd key={id}>
              {text}{' '}
              {sources.slice(0, 4).map(source => (
                <Link key={source} to={linkTo(source)} className="compaction__source numbers" title="Where it was said">
                  v{source}
                </Link>
              ))}
            </dd>
          ))}
        </div>
      ))}
    </dl>
  )
}
