/** An empty project: three ways to begin. */
import { useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { CopyButton } from '../../markdown/code-block.tsx'
import { address } from '../../router/address.ts'
import { go } from '../../router/router.tsx'
import { writeExample } from './example.ts'
import { importFile } from './import-file.ts'
import { newChat } from './new-chat.ts'
import './first-run.css'

export function FirstRun() {
  const client = useClient()
  const project = useProject()
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)

  const begin = async (making: () => Promise<string>) => {
    setBusy(true)
    setError(undefined)
    try {
      go(address([project, 'conversations', await making()]))
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
        {error !== undefined && <Failure error={error} />}
        <div className="first-run__ways">
          <section>
            <h2>Talk to an agent</h2>
            <p className="quiet">Begin a chat. What both sides say is in the log from the first word.</p>
            <button
              type="button"
              className="button button--main"
              disabled={isBusy}
              onClick={() => newChat(client, project)}
            >
              New chat
            </button>
          </section>
          <section>
            <h2>Look at an example</h2>
            <p className="quiet">
              A small team plans a login page: phases, a turn, tools, a checkpoint. It is written now.
            </p>
            <button
              type="button"
              className="button"
              disabled={isBusy}
              onClick={() => void begin(() => writeExample(client))}
            >
              Write the example
            </button>
          </section>
          <section>
            <h2>Bring one along</h2>
            <p className="quiet">
              A session of dagent, a list of messages with roles, or lines of a Colloquy export, as JSON or JSON lines.
            </p>
            <label className="button first-run__file">
              Choose a file
              <input
                type="file"
                accept=".json,.jsonl,.ndjson,application/json"
                disabled={isBusy}
                onChange={event => {
                  const file = event.target.files?.[0]
                  if (file) void begin(() => importFile(client, file))
                }}
              />
            </label>
          </section>
        </div>
        <p className="quiet small first-run__program">
          A whole team from plan to merge, without a key: <code>{demo}</code> <CopyButton text={demo} />
        </p>
        <p className="quiet small first-run__program">
          From a program: <code>{program(project)}</code> <CopyButton text={program(project)} />
        </p>
      </div>
    </div>
  )
}

const demo = 'npx colloquy demo'

function program(project: string): string {
  return `const colloquy = await openColloquy({ project: ${JSON.stringify(project)} })`
}
