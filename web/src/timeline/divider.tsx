/** A line across the timeline that marks a change. */
import { Fold } from '../components/fold.tsx'
import { Time } from '../components/time.tsx'
import { Markdown } from '../markdown/markdown.tsx'
import { Link } from '../router/router.tsx'
import './divider.css'
import type { Row } from './row.ts'

interface Props {
  row: Extract<Row, { kind: 'divider' | 'fact' }>
  version: number
  at: string
  actor: string
  /** True when a link jumped to it. */
  isMeant?: boolean
  linkTo(conversationId: string, version?: number): string
}

export function Divider({ row, version, at, actor, isMeant = false, linkTo }: Props) {
  const meant = isMeant ? ' divider--meant' : ''
  if (row.kind === 'fact') {
    return (
      <div className={`divider divider--fact${meant}`}>
        <span className="divider__text">{row.text}</span>
        <span className="divider__place numbers" title={`by ${actor}`}>
          v{version} · <Time at={at} />
        </span>
      </div>
    )
  }
  const { tone, text, detail, conversationId } = row
  return (
    <div className={`divider divider--${tone}${meant}`}>
      <span className="divider__line" aria-hidden="true" />
      <div className="divider__text">
        {detail === undefined ? text : <Fold summary={text}>{() => <Markdown text={detail} />}</Fold>}
        {conversationId !== undefined && (
          <>
            {' '}
            <Link to={linkTo(conversationId, row.version)}>open</Link>
          </>
        )}
      </div>
      <span className="divider__place numbers" title={`by ${actor}`}>
        v{version} · <Time at={at} />
      </span>
      <span className="divider__line" aria-hidden="true" />
    </div>
  )
}
