/**
 * A writer that gets killed. Appends without end to three conversations and reports each acknowledgement on descriptor
 * 3, after addMessage resolved and never before.
 *
 * Plain JavaScript on the built package, so that it starts quickly.
 */
import { writeSync } from 'node:fs'
import { openColloquy } from 'colloquy'

const { store, project, writer, run, shared, own, keyed, keyedFrom } = JSON.parse(process.argv[2])

const startedAt = Date.now()
const colloquy = await openColloquy({ store, project, tokens: 'fast', sweepEveryMs: null, busyTimeoutMs: 60_000 })

function acknowledge(place, name, message) {
  const { version, id, timestamp } = message
  const earlier = Date.parse(timestamp) < startedAt
  writeSync(3, `${JSON.stringify({ place, name, version, id, earlier })}\n`)
}

/** Mostly of the usual size, sometimes over a page, seldom large enough for the blob table. */
function textOf(name, number) {
  const length = number % 97 === 96 ? 300_000 : number % 11 === 10 ? 9_000 : 400
  return `${name} ${'kill minus nine '.repeat(length / 16)}`
}

async function appendTo(place, sessionId) {
  for (let number = 0; ; number++) {
    const name = `${place}-${writer}-${run}-${number}`
    acknowledge(
      place,
      name,
      await colloquy.sessions.addMessage(sessionId, { role: 'user', content: textOf(name, number) }),
    )
  }
}

/**
 * Starts at the first key that was not acknowledged. Each acknowledgement is one append late, like an answer lost on its
 * way: a kill then leaves a message that is stored but unknown to be, and the next run asks for it again by its key.
 */
async function appendOnce() {
  let answer = () => {}
  for (let number = keyedFrom; ; number++) {
    const name = `keyed-${writer}-${number}`
    const message = { role: 'user', content: textOf(name, number) }
    const stored = await colloquy.sessions.addMessage(keyed, message, { idempotencyKey: name })
    answer()
    answer = () => acknowledge('keyed', name, stored)
  }
}

await Promise.all([appendTo('shared', shared), appendTo('own', own), appendOnce()])
