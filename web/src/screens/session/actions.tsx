/**
 * What can be done with a session. Each says what it will do; what the engine can take back has an undo, and what moves
 * the window says that the log keeps everything.
 */
import type { ReactNode } from 'react'
import { useState } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { count } from '../../components/figures.ts'
import { tell, tellFailure } from '../../components/notices.tsx'
import { useClient } from '../../connection/client.tsx'
import type { Session } from './types.ts'

export function SessionActions({ session, onDone }: { session: Session; onDone: () => void }) {
  const client = useClient()
  const { id: sessionId, agentName, status } = session
  const [keepsSystem, setKeepsSystem] = useState(true)
  const isOpen = status === 'active'

  async function done(text: string, what: Promise<unknown>, undo?: () => Promise<unknown>): Promise<void> {
    await what
    onDone()
    tell(text, undo && (() => undo().finally(onDone)))
  }

  async function compact(): Promise<void> {
    const result = await client.sessions.compact({ sessionId })
    onDone()
    if (result.outcome === 'taken')
      tell(`Checkpoint ${result.checkpoint.number} stands for ${count(result.checkpoint.messages)} messages.`)
    else if (result.outcome === 'failed') tellFailure(new Error(`Not compacted: ${result.reason} Nothing was lost.`))
    else tell(result.outcome === 'held' ? 'Somebody else is compacting it right now.' : 'There is nothing to compact.')
  }

  return (
    <fieldset className="group session__actions" aria-label="Actions">
      <ActionButton label="Compact now" isDisabled={!isOpen} run={compact}>
        <p>Older messages of {agentName} become a checkpoint, whatever the size. The log keeps them word for word.</p>
      </ActionButton>
      <ActionButton
        label="Clear"
        isDisabled={!isOpen}
        run={() => done(`${agentName} starts anew. The log keeps what was said.`, client.sessions.clear({ sessionId }))}
      >
        <p>
          {agentName} starts with an empty window and without its checkpoint. The log keeps everything; to go back,
          branch the conversation at a version.
        </p>
      </ActionButton>
      <ActionButton
        label="Reset"
        isDisabled={!isOpen}
        fields={
          <Choice isOn={keepsSystem} onChange={setKeepsSystem}>
            Keep the first system message
          </Choice>
        }
        run={() =>
          done(
            `${agentName} was reset.`,
            client.sessions.reset({ sessionId, body: { keepSystemMessage: keepsSystem } }),
          )
        }
      >
        <p>Like clearing, for a new attempt at the same work. The log keeps everything.</p>
      </ActionButton>
      {status === 'active' && (
        <ActionButton
          label="Archive"
          run={() =>
            done(`${agentName} is archived.`, client.sessions.archive({ sessionId }), () =>
              client.sessions.reopen({ sessionId }),
            )
          }
        >
          <p>It becomes read-only and can be reopened at any time.</p>
        </ActionButton>
      )}
      {status === 'archived' && (
        <ActionButton
          label="Reopen"
          run={() =>
            done(`${agentName} is open again.`, client.sessions.reopen({ sessionId }), () =>
              client.sessions.archive({ sessionId }),
            )
          }
        >
          <p>It becomes writable again, where it stopped.</p>
        </ActionButton>
      )}
      <ExportButton conversationId={session.conversationId} />
    </fieldset>
  )
}

function Choice({
  isOn,
  onChange,
  children,
}: {
  isOn: boolean
  onChange: (isOn: boolean) => void
  children: ReactNode
}) {
  return (
    <label className="row session__choice">
      <input type="checkbox" checked={isOn} onChange={event => onChange(event.target.checked)} />
      {children}
    </label>
  )
}

/** The lines of an archive file, as a file. Read in pieces: a conversation may be large. */
export function ExportButton({ conversationId }: { conversationId: string }) {
  const client = useClient()
  const [isRunning, setRunning] = useState(false)
  async function save(): Promise<void> {
    const lines: string[] = []
    for await (const line of client.exportLines({ conversationId })) lines.push(line, '\n')
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob(lines, { type: 'application/x-ndjson' }))
    link.download = `${conversationId}.jsonl`
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
    tell(`Exported ${count(lines.length / 2 - 1)} events.`)
  }
  return (
    <button
      type="button"
      className="button button--small"
      disabled={isRunning}
      onClick={() => {
        setRunning(true)
        save()
          .catch(tellFailure)
          .finally(() => setRunning(false))
      }}
    >
      {isRunning ? 'Exporting …' : 'Export'}
    </button>
  )
}
