/**
 * One node of several on a server: follows the whole project from its start and writes with many callers at once, to a
 * conversation that all share and to its own. Says what it was told and what it saw on descriptor 3.
 */
import { writeSync } from 'node:fs'
import { openColloquy } from 'colloquy'

const { store, project, node, writers, each, total, shared, own } = JSON.parse(process.argv[2])
const colloquy = await openColloquy({ store, project, tokens: 'fast', sweepEveryMs: null, busyTimeoutMs: 60_000 })
const say = what => writeSync(3, `${JSON.stringify(what)}\n`)

const seenVersions = new Map()
const problems = []
const versions = new Map()
const updates = colloquy.subscribe({ from: 'start' })
const following = (async () => {
  for await (const update of updates) {
    const { conversationId, version } = update
    const before = versions.get(conversationId) ?? 0
    if (version !== before + 1) problems.push(`node ${node} saw ${conversationId} ${version} after ${before}`)
    versions.set(conversationId, version)
    if (update.action !== 'message_added') continue
    const key = `${conversationId} ${version}`
    seenVersions.set(key, (seenVersions.get(key) ?? 0) + 1)
    if (seenVersions.size % 500 === 0) say({ seen: seenVersions.size })
    if (seenVersions.size >= total) break
  }
})()

say({ ready: true })
await new Promise(resolve => process.stdin.once('data', resolve))
const started = performance.now()
let acknowledged = 0
let slowest = 0
await Promise.all(
  Array.from({ length: writers }, async (_, writer) => {
    for (let i = 0; i < each; i++) {
      const session = i % 2 === 0 ? shared : own
      const appendStarted = performance.now()
      await colloquy.sessions.addMessage(session, { role: 'user', content: `${node} ${writer} ${i}` })
      slowest = Math.max(slowest, performance.now() - appendStarted)
      acknowledged++
    }
  }),
)
const seconds = (performance.now() - started) / 1000
say({ wrote: acknowledged, seconds, slowest })
await following
const twice = [...seenVersions.values()].filter(times => times > 1).length
say({ done: true, seen: seenVersions.size, twice, problems })
await colloquy.close()
process.exit(0)
