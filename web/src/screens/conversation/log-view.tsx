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
import { useClient, useProject } from '../../connection/client.tsx'
import { useOpenQuestions } from '../../connection/questions.tsx'
import { useLiveEvents } from '../../connection/use-live.ts'
import { address } from '../../router/address.ts'
import { Link } from '../../router/router.tsx'
import { LogPages } from '../../timeline/log-pages.ts'
import { Scroller, type ScrollerHandle } from '../../timeline/scroller.tsx'
import { logRow } from './log-row.tsx'

interface Props {
  ref?: Ref<ScrollerHandle>
  conversationId: string
  /** Number of versions shown. */
  count: number
  /** Version that a link jumped to. */
  linkedVersion: number | undefined
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
    linkedVersion,
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

  function content(index: number): ReactNode | undefined {
    const version = index + 1
    const recorded = pages.get(version)
    if (!recorded) return undefined
    const row = logRow({
      recorded,
      version,
      conversationId,
      isLinked: linkedVersion === version,
      isPinned: pins.includes(version),
      showsEverything,
      isPast,
      questions: open,
      agentOf,
      actions,
      linkTo,
      linkHere,
    })
    const branchesHere = branchesAt.get(version)
    if (!branchesHere) return row
    return (
      <>
        {row}
        {branchesHere.map(branch => (
          <BranchDivider key={branch.id} branch={branch} isPast={isPast} linkTo={linkTo} />
        ))}
      </>
    )
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
        start={linkedVersion === undefined ? 'end' : linkedVersion - 1}
        footer={footer}
      />
    </>
  )
}

function byVersion(branches: readonly Conversation[]): ReadonlyMap<number, Conversation[]> {
  const byStart = new Map<number, Conversation[]>()
  for (const branch of branches) {
    const version = branch.branchOf?.version ?? 0
    byStart.set(version, [...(byStart.get(version) ?? []), branch])
  }
  return byStart
}

interface BranchDividerProps {
  branch: Conversation
  isPast: boolean
  linkTo(id: string): string
}

function BranchDivider({ branch: { id, title, status }, isPast, linkTo }: BranchDividerProps) {
  return (
    <div className="divider divider--turn">
      <span className="divider__line" aria-hidden="true" />
      <span className="divider__text">
        Branch: <Link to={linkTo(id)}>{title}</Link>{' '}
        {!isPast && status !== 'active' && <span className="badge">{status}</span>}
      </span>
      <span className="divider__line" aria-hidden="true" />
    </div>
  )
}
