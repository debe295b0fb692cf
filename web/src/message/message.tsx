/** A message in the timeline: author, addressees, time and content. */
import type { MessageAdded } from 'colloquy/client'
import { memo, useState } from 'react'
import { Fold } from '../components/fold.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { Time } from '../components/time.tsx'
import { firstWords, short } from '../format.ts'
import { Author } from './author.tsx'
import './message.css'
import { Parts } from './parts.tsx'

interface MessageProps {
  message: MessageAdded
  version: number
  at: string
  /** The agent of the session it was said in, if it has no other addressee. */
  sessionAgent: string | undefined
  isPinned: boolean
  /** True when a link jumped to it. */
  isMeant: boolean
  /** Must be the same function for every row, so that unchanged rows are not rendered again. */
  actions(message: MessageAdded, version: number): readonly MenuItem[]
  onLink(version: number): void
}

export const MessageRow = memo(function MessageRow(props: MessageProps) {
  const { message, version, at, sessionAgent, isPinned, isMeant, actions, onLink } = props
  const { author, role, addressees, audience, internal, parts, usage, redacted, agentType, metadata } = message
  const meant = addressees?.length ? addressees : audience.to === 'agents' ? audience.agents : undefined
  const to = meant ?? (sessionAgent !== undefined && role !== 'assistant' ? [sessionAgent] : undefined)
  const isTool = parts.length > 0 && parts.every(part => part.type === 'tool-result')
  // Parts other than text are folded anyway.
  const isAside = (internal === true || role === 'system' || audience.to === 'internal') && textOf(message) !== ''
  const [isSource, setSource] = useState(false)
  const items = () => [
    ...actions(message, version),
    { label: isSource ? 'Show as Markdown' : 'Show source', onChoose: () => setSource(!isSource) },
  ]
  const words = (
    <>
      {isSource ? <pre className="message__source">{textOf(message)}</pre> : <Parts parts={parts} />}
      {redacted && (
        <p className="small quiet">Taken out: {redacted.map(({ kind, count }) => `${count} × ${kind}`).join(', ')}</p>
      )}
    </>
  )
  return (
    <article
      className={`message message--${role} ${isTool ? 'message--tool' : ''} ${isMeant ? 'message--meant' : ''}`}
      aria-label={`${author}${to ? ` to ${to.join(', ')}` : ''}, version ${version}`}
      data-version={version}
      tabIndex={-1}
    >
      <header className="message__head">
        <Author name={author} />
        {to && <span className="message__to cut">→ {to.join(', ')}</span>}
        {agentType !== undefined && agentType !== author && <span className="badge">{agentType}</span>}
        {metadata?.cutOff !== undefined && <span className="badge badge--warn">cut off</span>}
        {internal && <span className="badge">internal</span>}
        {role === 'system' && <span className="badge">system</span>}
        {isPinned && <span className="badge badge--note">pinned</span>}
        <span className="grow" />
        <span className="message__figures numbers" title={figures(message)}>
          {short(message.tokens.count)} tok{usage ? ` · ${short(usage.output)} out` : ''}
        </span>
        <a
          className="message__version numbers"
          href={`#v${version}`}
          title="Link to this message"
          onClick={event => {
            event.preventDefault()
            onLink(version)
          }}
        >
          {version}
        </a>
        <Time at={saidAt(metadata) ?? at} className="message__time numbers" />
        <Menu label={`Actions on message ${version}`} items={items} />
      </header>
      <div className="message__body">
        {isAside ? (
          <Fold summary={<span className="cut">{firstWords(textOf(message), 140)}</span>}>{() => words}</Fold>
        ) : (
          words
        )}
      </div>
    </article>
  )
})

/** The original time of an imported message. */
function saidAt(metadata: MessageAdded['metadata']): string | undefined {
  const said = metadata?.originalTimestamp
  return typeof said === 'string' && !Number.isNaN(Date.parse(said)) ? said : undefined
}

export function textOf({ parts }: Pick<MessageAdded, 'parts'>): string {
  return parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n\n')
}

function figures({ tokens, usage }: MessageAdded): string {
  const own = `${tokens.count} tokens (${tokens.by})`
  if (!usage) return own
  const { input, output, cacheRead = 0, cacheWrite = 0, cost } = usage
  const price = cost === undefined ? '' : `, $${cost.toFixed(4)}`
  return `${own}; its call: ${input} in, ${cacheRead} from cache, ${cacheWrite} to cache, ${output} out${price}`
}
