/** The conversation screen: the timeline, live or at a past version, with a panel next to it and the composer below. */
import type { MessageAdded } from 'colloquy/client'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useTitle } from '../../connection/questions.tsx'
import { useCommands } from '../../palette/commands.ts'
import { address } from '../../router/address.ts'
import { useAt } from '../../router/at.ts'
import { go, goWith, useQuery } from '../../router/router.tsx'
import type { ScreenProps } from '../../routes.tsx'
import type { ScrollerHandle } from '../../timeline/scroller.tsx'
import { conversationActions, jumpToVersion, messageActions } from './actions.ts'
import { Composer } from './composer.tsx'
import './conversation.css'
import { Header } from './header.tsx'
import { LiveTail } from './live-tail.tsx'
import { LogView } from './log-view.tsx'
import { panels } from './panels.ts'
import { TimeBar } from './time-bar.tsx'
import { useConversation } from './use-conversation.ts'

export function ConversationScreen({ params }: ScreenProps) {
  const conversationId = params.conversation!
  return <ConversationView key={conversationId} conversationId={conversationId} />
}

function ConversationView({ conversationId }: { conversationId: string }) {
  const client = useClient()
  const project = useProject()
  const at = useAt()
  const linkedText = useQuery('v')
  const linkedVersion = linkedText === undefined ? undefined : Number(linkedText) || undefined
  const showsEverything = useQuery('all') !== undefined
  const panelId = useQuery('panel')
  const panel = panels.find(({ id }) => id === panelId)
  const state = useConversation(conversationId, at)
  const { head, now, version, sessions, parentSessions, branches, runs, compacting, error, reload } = state
  const scroller = useRef<ScrollerHandle>(null)
  const [isAtEnd, setAtEnd] = useState(linkedVersion === undefined)
  /** Undefined until the first read: older messages do not count as new. */
  const [readUpTo, setReadUpTo] = useState<number>()
  useTitle(head?.title ?? 'Conversation')

  const names = useMemo(
    () => new Map([...parentSessions, ...sessions].map(({ id, agentName }) => [id, agentName])),
    [parentSessions, sessions],
  )
  const agentOf = useCallback((sessionId: string) => names.get(sessionId) ?? 'an agent', [names])
  const pins = head?.pins ?? noPins
  const actions = useCallback(
    (message: MessageAdded, version: number) =>
      messageActions({ client, project, conversationId }, message, version, {
        isPinned: pins.includes(version) || message.pinned === true,
        isPast: at !== undefined,
      }),
    [client, project, conversationId, pins, at],
  )

  const commands = useCallback(
    () => [
      ...(now ? conversationActions({ client, project, conversationId }, now, at) : []),
      {
        label: 'Search this conversation',
        onChoose: () => go(address([project, 'search'], { conversation: conversationId })),
      },
      {
        label: 'Jump to a version…',
        onChoose: () => void jumpToVersion(version),
      },
    ],
    [client, project, conversationId, now, version, at],
  )
  useCommands('this conversation', commands)

  useEffect(() => {
    if (linkedVersion !== undefined) scroller.current?.jumpTo(linkedVersion - 1)
  }, [linkedVersion])
  useEffect(() => {
    if (at !== undefined) scroller.current?.jumpToEnd()
  }, [at])
  useEffect(() => {
    if (version > 0) setReadUpTo(before => (isAtEnd ? version : (before ?? version)))
  }, [isAtEnd, version])

  if (error !== undefined && head === undefined) {
    return (
      <div className="page">
        <div className="page__inner">
          <Failure error={error} onRetry={reload} />
        </div>
      </div>
    )
  }
  const count = at === undefined ? version : Math.min(at, version)
  const unread = version - (readUpTo ?? version)
  return (
    <div className="conversation">
      {head ? (
        <Header state={{ ...state, head }} at={at} showsEverything={showsEverything} />
      ) : (
        <div className="conversation-header conversation-header--waiting" />
      )}
      {at !== undefined && <TimeBar conversationId={conversationId} at={at} version={version} />}
      <div className="conversation__body">
        <div className="conversation__timeline">
          {now && (
            <LogView
              key={String(showsEverything)}
              ref={scroller}
              conversationId={conversationId}
              count={count}
              linkedVersion={linkedVersion}
              showsEverything={showsEverything}
              isPast={at !== undefined}
              pins={pins}
              branches={branches}
              agentOf={agentOf}
              actions={actions}
              onAtEnd={setAtEnd}
              footer={at === undefined && <LiveTail {...{ conversationId, runs, sessions, compacting }} />}
            />
          )}
          {!isAtEnd && at === undefined && (
            <ToEndButton unread={unread} onClick={() => scroller.current?.jumpToEnd()} />
          )}
        </div>
        {panel && (
          <aside className="conversation__panel" aria-label={panel.title}>
            <panel.Content conversationId={conversationId} at={at} />
          </aside>
        )}
      </div>
      {now && at === undefined && (
        <Composer
          conversation={now}
          sessions={sessions}
          others={parentSessions}
          onSent={() => scroller.current?.jumpToEnd()}
        />
      )}
    </div>
  )
}

function ToEndButton({ unread, onClick }: { unread: number; onClick(): void }) {
  const toEnd = () => {
    goWith({ v: undefined }, { replace: true })
    onClick()
  }
  return (
    <button type="button" className="button conversation__down" onClick={toEnd}>
      ↓ {unread > 0 ? `${unread} new` : 'To the end'}
    </button>
  )
}

const noPins: readonly number[] = []
