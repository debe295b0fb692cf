/** The empty project: watch the demo, talk to an agent, or import a file. */
import { useState } from 'react'
import { useClient, useMe, useProject } from '../../connection/client.tsx'
import { CopyButton } from '../../markdown/code-block.tsx'
import { address } from '../../router/address.ts'
import { go } from '../../router/router.tsx'
import { writeExample } from './example.ts'
import './first-run.css'
import { ImportButton } from './import/import-button.tsx'
import { ImportFailure } from './import/import-failure.tsx'
import { newChat } from './new-chat.ts'
import { startDemo } from './start-demo.ts'

export function FirstRun() {
  const client = useClient()
  const project = useProject()
  const me = useMe()
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const isReader = me?.scope === 'read'

  const begin = async (making: () => Promise<string>) => {
    setBusy(true)
    setError(undefined)
    try {
      go(await making())
    } catch (problem) {
      setError(problem)
      setBusy(false)
    }
  }
  return (
    <div className="page">
      <div className="page__inner first-run">
        <h1>{project} is empty</h1>
        <p className="quiet">
          Conversations of your agents appear here as they happen: what was said, what each agent was sent and why, and
          what became of it.
        </p>
        {isReader && <p role="status">You may only read here, so there is nothing to begin with yet.</p>}
        {error !== undefined && <ImportFailure error={error} />}
        <div className="first-run__ways">
          <section>
            <h2>Watch a team at work</h2>
            <p className="quiet">
              A scripted team plans a feature, builds it until its tests pass, reviews and merges it. It needs no key,
              and is in a project of its own.
            </p>
            <button
              type="button"
              className="button button--main"
              disabled={isBusy || me?.scope !== 'admin'}
              title={
                me && me.scope !== 'admin' ? 'It runs programs on the server: that takes the owner’s token' : undefined
              }
              onClick={() => void begin(() => startDemo(client, project))}
            >
              Start the demo
            </button>
          </section>
          <section>
            <h2>Talk to an agent</h2>
            <p className="quiet">Begin a chat. What both sides say is in the log from the first word.</p>
            <button
              type="button"
              className="button"
              disabled={isBusy || isReader}
              onClick={() => newChat(client, project)}
            >
              New chat
            </button>
          </section>
          <section>
            <h2>Bring one along</h2>
            <p className="quiet">
              An export of Colloquy, messages with roles as JSON or lines of it, or a session of Claude Code, Codex, pi
              or opencode; tool calls included.
            </p>
            <ImportButton
              label="Choose a file"
              isDisabled={isBusy}
              onBusy={isOn => {
                setBusy(isOn)
                if (isOn) setError(undefined)
              }}
              onFailure={setError}
            />
          </section>
        </div>
        <div className="first-run__more quiet small">
          <p>
            Only looking? A short conversation with phases, a turn, tools and a checkpoint is written at once:{' '}
            <button
              type="button"
              className="button button--small"
              disabled={isBusy || isReader}
              onClick={() => void begin(async () => address([project, 'conversations', await writeExample(client)]))}
            >
              Write the example
            </button>
          </p>
          <p className="first-run__program">
            From a program: <code>{program(project)}</code> <CopyButton text={program(project)} />
          </p>
        </div>
      </div>
    </div>
  )
}

function program(project: string): string {
  return `const colloquy = await openColloquy({ project: ${JSON.stringify(project)} })`
}
