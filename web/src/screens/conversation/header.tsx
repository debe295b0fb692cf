/** The header of a conversation: title, state, phase, agents and actions. */
import type { Conversation } from 'colloquy/client'
import { Menu } from '../../components/menu.tsx'
import { Time } from '../../components/time.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { counted } from '../../format.ts'
import { address } from '../../router/address.ts'
import { goWith, Link, useQuery } from '../../router/router.tsx'
import { conversationActions } from './actions.ts'
import './header.css'
import { panels } from './panels.ts'
import type { ConversationState } from './use-conversation.ts'

const tones = { active: '', completed: 'badge--good', archived: 'badge--warn' }

interface Props {
  state: ConversationState & { head: NonNullable<ConversationState['head']> }
  at: number | undefined
  showsEverything: boolean
}

export function Header({ state: { head, now, version, sessions }, at, showsEverything }: Props) {
  const client = useClient()
  const project = useProject()
  const panel = useQuery('panel')
  const { id: conversationId, title, status, phase, branchOf, workItem } = head
  const stats = useResource(
    `stats ${conversationId}`,
    signal => client.conversations.stats({ conversationId }, { signal }),
    event => event.conversationId === conversationId && event.type === 'message.added',
  )
  return (
    <header className="conversation-header">
      <div className="conversation-header__line">
        <h1 className="cut" title={title}>
          {title}
        </h1>
        {status !== 'active' && <span className={`badge ${tones[status]}`}>{status}</span>}
        {phase !== undefined && <span className="badge badge--note">{phase}</span>}
        <span className="grow" />
        {panels.map(({ id, title }) => (
          <button
            key={id}
            type="button"
            className="button button--small"
            aria-pressed={panel === id}
            onClick={() => goWith({ panel: panel === id ? undefined : id })}
          >
            {title}
          </button>
        ))}
        <button
          type="button"
          className="button button--quiet button--small conversation-header__all"
          aria-pressed={showsEverything}
          title="Also what only the audit needs"
          onClick={() => goWith({ all: showsEverything ? undefined : 1 })}
        >
          All events
        </button>
        {now && (
          <Menu label="Actions" items={() => conversationActions({ client, project, conversationId }, now, at)} />
        )}
      </div>
      <div className="conversation-header__line conversation-header__facts small quiet numbers">
        <span>{itemName(workItem)}</span>
        {branchOf && (
          <Link to={address([project, 'conversations', branchOf.conversationId], { v: branchOf.version })}>
            branch at v{branchOf.version}
          </Link>
        )}
        {stats.data && at === undefined && (
          <span>
            {counted(stats.data.messages, 'message')} · {counted(stats.data.tokens, 'token')}
          </span>
        )}
        <span>{counted(at ?? version, 'event')}</span>
        <span className="cut">{agents(sessions)}</span>
        {now && at === undefined && (
          <span>
            active <Time at={now.activeAt} />
          </span>
        )}
      </div>
    </header>
  )
}

export function itemName(item: Conversation['workItem']): string {
  switch (item.type) {
    case 'feature':
      return `feature ${item.featureId}`
    case 'task':
      return `task ${item.taskId} of ${item.featureId}`
    case 'bead':
      return `bead ${item.beadId}`
    case 'thread':
      return 'thread'
  }
}

function agents(sessions: ConversationState['sessions']): string {
  const names = [...new Set(sessions.filter(one => one.status === 'active').map(one => one.agentName))]
  return names.length === 0 ? 'no agents' : names.join(', ')
}
