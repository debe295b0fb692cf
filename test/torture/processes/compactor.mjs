/**
 * One of the programs that race: lives through many races and does what each line on stdin says (`build`, `compact` or
 * `add`, a session, a text), then answers on descriptor 3.
 *
 * Plain JavaScript on the built package, so that it starts quickly.
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { openColloquy } from 'colloquy'

const { store, project, budget } = JSON.parse(process.argv[2])
const colloquy = await openColloquy({
  store,
  project,
  tokens: 'fast',
  durability: 'relaxed',
  sweepEveryMs: null,
  busyTimeoutMs: 60_000,
  requests: { budget, recall: false },
})
const answer = value => writeSync(3, `${JSON.stringify(value)}\n`)
answer({ ready: true })

for await (const line of createInterface({ input: process.stdin })) {
  const { what, session, text } = JSON.parse(line)
  try {
    if (what === 'build') {
      const { omitted, checkpoint } = await colloquy.sessions.buildRequest(session, text)
      answer({ omitted, checkpoint })
    } else if (what === 'compact') answer(await colloquy.sessions.forceCompact(session))
    else answer({ version: (await colloquy.sessions.addMessage(session, { role: 'user', content: text })).version })
  } catch (error) {
    answer({ error: String(error?.stack ?? error) })
  }
}
await colloquy.close()
