/** One row of the log: a message, a question, a loop, a compaction or a divider. Null for an event that is not shown. */
import type { MessageAdded } from 'colloquy/client'
import type { ReactNode } from 'react'
import type { MenuItem } from '../../components/menu.tsx'
import { tellFailure } from '../../components/notices.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import type { useOpenQuestions } from '../../connection/questions.tsx'
import { MessageRow } from '../../message/message.tsx'
import { goWith } from '../../router/router.tsx'
import { CompactionRow } from '../../timeline/compaction-row.tsx'
import { Divider } from '../../timeline/divider.tsx'
import type { LogPages } from '../../timeline/log-pages.ts'
import type { Row } from '../../timeline/row.ts'
import { rowOf } from '../../timeline/row-of.ts'
import { acknowledgeLoop } from './actions.ts'
import { AskedQuestion } from './question-card.tsx'

interface LogRowInput {
  recorded: NonNullable<ReturnType<LogPages['get']>>
  version: number
  conversationId: string
  /** True for the version that a link jumped to. */
  isLinked: boolean
  isPinned: boolean
  showsEverything: boolean
  isPast: boolean
  questions: ReturnType<typeof useOpenQuestions>
  agentOf(sessionId: string): string
  actions(message: MessageAdded, version: number): readonly MenuItem[]
  linkTo(conversationId: string, version?: number): string
  linkHere(version: number): string
}

const toVersion = (version: number) => goWith({ v: version })

/** No component: the timeline has to know which rows are empty before it renders them. */
export function logRow(input: LogRowInput): ReactNode {
  const { recorded, version, isLinked, isPast, agentOf, linkTo } = input
  const { event, at, actor } = recorded
  const row = rowOf(event, agentOf)
  if (row.kind === 'message') return messageRow(input)
  if (row.kind === 'question' && event.type === 'question.asked') {
    const open = isPast ? undefined : input.questions.find(({ id }) => id === event.questionId)
    return <AskedQuestion asked={event} at={at} open={open} />
  }
  if (row.kind === 'loop') return <LoopRow row={row} conversationId={input.conversationId} isPast={isPast} />
  if (row.kind === 'compaction' && event.type === 'checkpoint.taken') {
    const agent = agentOf(event.sessionId)
    return <CompactionRow event={event} agent={agent} version={version} at={at} linkTo={input.linkHere} />
  }
  if (row.kind === 'divider' || (row.kind === 'fact' && (input.showsEverything || isLinked))) {
    return <Divider row={row} version={version} at={at} actor={actor} isMeant={isLinked} linkTo={linkTo} />
  }
  return null
}

function messageRow({ recorded, version, isLinked, isPinned, agentOf, actions, linkTo }: LogRowInput): ReactNode {
  const { event, at, actor } = recorded
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
      isPinned={event.pinned === true || isPinned}
      isMeant={isLinked}
      actions={actions}
      onLink={toVersion}
    />
  )
}

interface LoopRowProps {
  row: Extract<Row, { kind: 'loop' }>
  conversationId: string
  isPast: boolean
}

function LoopRow({ row, conversationId, isPast }: LoopRowProps) {
  const client = useClient()
  const project = useProject()
  const acknowledge = () => void acknowledgeLoop({ client, project, conversationId }).catch(tellFailure)
  return (
    <div className="question question--bad">
      <div className="row">
        <span className="badge badge--bad">loop</span>
        <span>Routing to {row.agents.join(', ')} is blocked.</span>
        <span className="grow" />
        {!isPast && (
          <button type="button" className="button button--small" onClick={acknowledge}>
            Acknowledge…
          </button>
        )}
      </div>
      <p className="quiet">{row.finding}</p>
    </div>
  )
}
