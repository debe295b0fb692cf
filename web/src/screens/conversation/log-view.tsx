/** The log of a conversation as a timeline, read page by page. */
import type { Conversation, MessageAdded } from 'colloquy/client'
import {
  type ReactNode,
  type Ref,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { Failure } from '../../components/failure.tsx'
import type { MenuItem } from '../../components/menu.tsx'
import { tellFailure } from '../../components/notices.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useOpenQuestions } from '../../connection/questions.tsx'
import { useLiveEvents } from '../../connection/use-live.ts'
import { MessageRow } from '../../message/message.tsx'
import { address } from '../../router/address.ts'
import { goWith, Link } from '../../router/router.tsx'
import { CompactionRow } from '../../timeline/compaction-row.tsx'
import { Divider } from '../../timeline/divider.tsx'
import { LogPages } from '../../timeline/log-pages.ts'
import { rowOf } from '../../timeline/row-of.ts'
import { Scroller, type ScrollerHandle } from '../../timeline/scroller.tsx'
import { acknowledgeLoop } from './actions.ts'
import { AskedQuestion } from './question-card.tsx'

interface Props {
  ref?: Ref<ScrollerHandle>
  conversationId: string
  /** Number of versions shown. */
  count: number
  /** Version that a link jumped to. */
  meant: number | undefined
  showsEverything: boolean
  /** True for a past version, where questions cannot be answered. */
  isPast: boolean
  pins: readonly number[]
  branches: readonly Conversation[]
  agentOf(sessionId: string): string
  actions(message: MessageAdded, version: number): readonly MenuItem[]
  onAtEnd(isAtEnd: boolean): void
  footer: ReactNode
}

/** While the scroll bar is dragged, rows that only pass by are not loaded. */
const restMs = 60

export function LogView(props: Props) {
  const {
    ref,
    conversationId,
    count,
    meant,
    showsEverything,
    isPast,
    pins,
    branches,
    agentOf,
    actions,
    onAtEnd,
    footer,
  } = props
  const client = useClient()
  const project = useProject()
  const open = useOpenQuestions(conversationId)
  const [pages] = useState(
    () =>
      new LogPages(async (from, to, signal) => {
        const query = { from, to, limit: to - from + 1 }
        const { items } = await client.conversations.events({ conversationId, query }, { signal })
        return items as unknown as Awaited<ReturnType<ConstructorParameters<typeof LogPages>[0]>>
      }),
  )
  useEffect(() => () => pages.close(), [pages])
  useSyncExternalStore(pages.subscribe, pages.state)
  useLiveEvents(
    event => {
      if (event.conversationId === conversationId) pages.put(event)
    },
    () => pages.retry(),
  )

  const range = useRef({ first: 0, last: -1, timer: undefined as ReturnType<typeof setTimeout> | undefined })
  const want = useCallback(() => {
    range.current.timer = undefined
    const { first, last } = range.current
    if (last >= first) pages.want(first + 1, last + 1)
  }, [pages])
  const onRange = useCallback(
    (first: number, last: number) => {
      const isFirst = range.current.last < 0
      clearTimeout(range.current.timer)
      range.current = { first, last, timer: isFirst ? undefined : setTimeout(want, restMs) }
      if (isFirst) want()
    },
    [want],
  )
  // A live event or a failed read may leave a gap among the visible rows.
  useEffect(() => {
    if (range.current.timer === undefined) want()
  })

  const branchesAt = useMemo(() => byVersion(branches), [branches])
  const linkTo = useCallback(
    (id: string, version?: number) => address([project, 'conversations', id], { v: version }),
    [project],
  )
  const linkHere = useCallback((version: number) => linkTo(conversationId, version), [linkTo, conversationId])
  const onLink = useCallback((version: number) => goWith({ v: version }), [])

  function content(index: number): ReactNode | undefined {
    const version = index + 1
    const recorded = pages.get(version)
    if (!recorded) return undefined
    const { event, at, actor } = recorded
    const row = rowOf(event, agentOf)
    const leaving = branchesAt.get(version)
    const inner = rowContent()
    if (!leaving) return inner
    return (
      <>
        {inner}
        {leaving.map(({ id, title, status }) => (
          <div className="divider divider--turn" key={id}>
            <span className="divider__line" aria-hidden="true" />
            <span className="divider__text">
              Branch: <Link to={linkTo(id)}>{title}</Link>{' '}
              {!isPast && status !== 'active' && <span className="badge">{status}</span>}
            </span>
            <span className="divider__line" aria-hidden="true" />
          </div>
        ))}
      </>
    )

    function rowContent(): ReactNode {
      if (row.kind === 'message') {
        if (event.type !== 'message.added') {
          const gone = { kind: 'divider', tone: 'warn', text: 'A message whose content is gone' } as const
          return <Divider row={gone} version={version} at={at} actor={actor} linkTo={linkTo} />
        }
        return (
          <MessageRow
            message={event}
            version={version}
            at={at}
            sessionAgent={event.sessionId === undefined ? undefined : agentOf(event.sessionId)}
            isPinned={event.pinned === true || pins.includes(version)}
            isMeant={meant === version}
            actions={actions}
            onLink={onLink}
          />
        )
      }
      if (row.kind === 'question' && event.type === 'question.asked') {
        return (
          <AskedQuestion
            asked={event}
            at={at}
            open={isPast ? undefined : open.find(one => one.id === event.questionId)}
          />
        )
      }
      if (row.kind === 'loop') {
        return (
          <div className="question question--bad">
            <div className="row">
              <span className="badge badge--bad">loop</span>
              <span>Routing to {row.agents.join(', ')} is blocked.</span>
              <span className="grow" />
              {!isPast && (
                <button
                  type="button"
                  className="button button--small"
                  onClick={() => void acknowledgeLoop({ client, project, conversationId }).catch(tellFailure)}
                >
                  Acknowledge…
                </button>
              )}
            </div>
            <p className="quiet">{row.finding}</p>
          </div>
        )
      }
      if (row.kind === 'compaction' && event.type === 'checkpoint.taken') {
        return (
          <CompactionRow event={event} agent={agentOf(event.sessionId)} version={version} at={at} linkTo={linkHere} />
        )
      }
      if (row.kind === 'divider' || (row.kind === 'fact' && (showsEverything || meant === version))) {
        return <Divider row={row} version={version} at={at} actor={actor} isMeant={meant === version} linkTo={linkTo} />
      }
      return null
    }
  }

  return (
    <>
      {pages.error !== undefined && <Failure error={pages.error} onRetry={() => pages.retry()} />}
      <Scroller
        {...(ref !== undefined && { ref })}
        label="Timeline"
        count={count}
        row={content}
        onRange={onRange}
        onAtEnd={onAtEnd}
        start={meant === undefined ? 'end' : meant - 1}
        footer={footer}
      />
    </>
  )
}

function byVersion(branches: readonly Conversation[]): ReadonlyMap<number, Conversation[]> {
  const found = new Map<number, Conversation[]>()
  for (const one of branches) {
    const version = one.branchOf?.version ?? 0
    found.set(version, [...(found.get(version) ?? []), one])
  }
  return found
}
