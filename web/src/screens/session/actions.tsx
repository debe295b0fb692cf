/**
 * Actions on a session. Each explains its effect; reversible ones offer an undo, and those that move the window say
 * that the log keeps everything.
 */
import type { Client } from 'colloquy/client'
import { useCallback, useRef } from 'react'
import { ask } from '../../components/ask.tsx'
import { tell, tellFailure } from '../../components/notices.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { whole } from '../../format.ts'
import { useCommands } from '../../palette/commands.ts'
import { base } from '../../router/base.ts'
import type { Session } from './types.ts'

interface Action {
  label: string
  isOff?: boolean
  run(): Promise<unknown> | undefined
}

export function SessionActions({ session, onDone }: { session: Session; onDone: () => void }) {
  const client = useClient()
  const project = useProject()
  const actions = actionsOf(client, project, session)
  const start = ({ run }: Action) => run()?.catch(tellFailure).finally(onDone)
  const newest = useRef({ actions, start })
  newest.current = { actions, start }
  // biome-ignore lint/correctness/useExhaustiveDependencies: what can be done depends on it, so the palette is told again
  const commands = useCallback(
    () =>
      newest.current.actions.map(action => ({
        label: action.label,
        ...(action.isOff && { isDisabled: true }),
        onChoose: () => newest.current.start(action),
      })),
    [session.status],
  )
  useCommands('this session', commands)
  return (
    <fieldset className="group session__actions" aria-label="Actions">
      {actions.map(action => (
        <button
          key={action.label}
          type="button"
          className="button button--small"
          disabled={action.isOff}
          onClick={() => start(action)}
        >
          {action.label}
        </button>
      ))}
    </fieldset>
  )
}

function actionsOf(client: Client, project: string, session: Session): Action[] {
  const { id: sessionId, agentName, status } = session
  const isOff = status !== 'active'
  return [
    { label: 'Compact now', isOff, run: () => compact(client, session) },
    { label: 'Clear', isOff, run: () => clear(client, session) },
    { label: 'Reset', isOff, run: () => reset(client, session) },
    status === 'archived' || status === 'expired'
      ? {
          label: 'Reopen',
          async run() {
            await client.sessions.reopen({ sessionId })
            tell(`${agentName} is open again.`, () => client.sessions.archive({ sessionId }))
          },
        }
      : { label: 'Archive', isOff, run: () => archive(client, session) },
    {
      label: 'Export',
      run() {
        exportLog(project, session.conversationId)
        return undefined
      },
    },
  ]
}

async function compact(client: Client, { id: sessionId, agentName }: Session): Promise<void> {
  const isMeant = await ask({
    title: 'Compact now?',
    text: `Older messages of ${agentName} become a checkpoint, whatever the size. The log keeps them word for word.`,
    confirm: 'Compact',
  })
  if (!isMeant) return
  const result = await client.sessions.compact({ sessionId })
  if (result.outcome === 'taken') {
    const { number, messages } = result.checkpoint
    tell(`Checkpoint ${number} stands for ${whole(messages)} messages.`)
  } else if (result.outcome === 'failed') {
    throw new Error(`Not compacted: ${result.reason}. Nothing was lost.`)
  } else if (result.outcome === 'superseded') tell(`Not compacted: ${result.reason} meanwhile.`)
  else tell(result.outcome === 'held' ? 'Another run is compacting it right now.' : 'There is nothing to compact.')
}

async function clear(client: Client, { id: sessionId, agentName }: Session): Promise<void> {
  const isMeant = await ask({
    title: 'Clear this session?',
    text: `${agentName} starts with an empty window and without its checkpoint. The log keeps everything; to go back, branch the conversation at a version.`,
    confirm: 'Clear',
  })
  if (!isMeant) return
  await client.sessions.clear({ sessionId })
  tell(`${agentName} starts anew. The log keeps what was said.`)
}

const keeps = 'keep the first system message'

async function reset(client: Client, { id: sessionId, agentName }: Session): Promise<void> {
  const given = await ask({
    title: 'Reset this session?',
    text: 'Like clearing, for a new attempt at the same work. The log keeps everything.',
    confirm: 'Reset',
    choice: { label: 'Its instructions', options: [keeps, 'start from nothing'] },
  })
  if (!given) return
  await client.sessions.reset({ sessionId, body: { keepSystemMessage: given.choice === keeps } })
  tell(`${agentName} was reset.`)
}

async function archive(client: Client, { id: sessionId, agentName }: Session): Promise<void> {
  const isMeant = await ask({
    title: 'Archive this session?',
    text: 'It becomes read-only and can be reopened at any time.',
    confirm: 'Archive',
  })
  if (!isMeant) return
  await client.sessions.archive({ sessionId })
  tell(`${agentName} is archived.`, () => client.sessions.reopen({ sessionId }))
}

/** The browser downloads it, so that a log of any size never has to fit in memory. */
function exportLog(project: string, conversationId: string): void {
  const link = document.createElement('a')
  const path = [project, 'conversations', conversationId].map(encodeURIComponent).join('/')
  link.href = `${base()}/api/v1/projects/${path}/export`
  link.download = `${conversationId}.jsonl`
  link.click()
}
