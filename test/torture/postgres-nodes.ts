/**
 * Many nodes on one server: what each was told is there once and in order, and every node saw all of it; a node that is
 * stopped past its lease is refused; a server that restarts, connections that are cut and a primary that dies lose nothing
 * that was acknowledged, and the service is back soon.
 */
import { setTimeout as pass } from 'node:timers/promises'
import { openColloquy } from 'colloquy'
import { postgresStore } from 'colloquy/postgres'
import type { StoreCalls } from 'colloquy/stores'
import { conversationCreated, messageAdded, proposal, textsIn } from '../../src/testing/builders.ts'
import { openCutProxy } from '../support/cut-proxy.ts'
import { type PostgresServer, startReplicated } from '../support/postgres-server.ts'
import { startChild } from './child.ts'
import type { random } from './random.ts'

const project = 'torture'
const longestWaitMs = 120_000

export interface NodesReport {
  appended: number
  seconds: number
  slowestMs: number
  problems: string[]
}

/** `nodes` processes with `writers` callers each, on a conversation they share and one of their own. */
export async function manyNodes(
  store: string,
  { nodes, writers, each, onSeen }: { nodes: number; writers: number; each: number; onSeen?: (seen: number) => void },
): Promise<NodesReport> {
  const colloquy = await openColloquy({ store, project, tokens: 'fast', sweepEveryMs: null })
  const session = (threadId: string) =>
    colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'writer', threadId, expiresInMs: null })
  const shared = await session('shared')
  const ownSessions = await Promise.all(Array.from({ length: nodes }, (_, node) => session(`own-${node}`)))
  const total = nodes * writers * each
  const problems: string[] = []
  let [ready, done, appended, seconds, slowestMs] = [0, 0, 0, 0, 0]
  let heard: (() => void) | undefined
  const children = ownSessions.map(({ id }, node) => {
    const input = { store, project, node, writers, each, total, shared: shared.id, own: id }
    return startChild({
      program: 'node.mjs',
      args: [JSON.stringify(input)],
      onLine(line) {
        const report = JSON.parse(line)
        if (report.ready) ready++
        if (report.seen && !report.done) onSeen?.(report.seen)
        if (report.wrote) {
          appended += report.wrote
          seconds = Math.max(seconds, report.seconds)
          slowestMs = Math.max(slowestMs, report.slowest)
        }
        if (report.done) {
          done++
          problems.push(...report.problems)
          if (report.seen !== total || report.twice > 0) {
            problems.push(`node ${node} saw ${report.seen} of ${total}, ${report.twice} more than once`)
          }
        }
        heard?.()
      },
    })
  })
  const exits = children.map(({ ended }, node) =>
    ended.then(({ code, words }) => {
      if (code !== 0) problems.push(`node ${node} ended with ${code}: ${words}`)
      heard?.()
    }),
  )
  while (ready < nodes && problems.length === 0) await new Promise<void>(resolve => (heard = resolve))
  for (const child of children) child.tell('go')
  await Promise.all(exits)
  if (done !== nodes || appended !== total) problems.push(`${appended} of ${total} acknowledged by ${done} nodes`)
  let messages = 0
  for (const conversationId of [shared, ...ownSessions].map(one => one.conversationId)) {
    let version = 0
    for (;;) {
      const events = await colloquy.conversations.getEvents(conversationId, { from: version + 1 })
      for (const event of events) {
        if (event.version !== version + 1)
          problems.push(`${conversationId}: ${version} is followed by ${event.version}`)
        version = event.version
        if (event.event.type === 'message.added') messages++
      }
      if (events.length === 0) break
    }
  }
  if (messages !== total) problems.push(`${messages} messages are stored, ${total} were acknowledged`)
  const { damages } = await colloquy.verify()
  problems.push(...damages.map(one => `${one.conversationId} ${one.version ?? ''}: ${one.what}`))
  await colloquy.close()
  return { appended, seconds, slowestMs, problems }
}

/** A node is stopped past its lease, another takes over, the first goes on. */
export async function stoppedNode(url: string, { forMs }: { forMs: number }): Promise<string[]> {
  const store = await postgresStore(url, { clock: Date.now })
  const problems: string[] = []
  try {
    const lease = `lease ${performance.now()}`
    if (!(await store.conversation(project, 'c'))) await store.append(proposal('c', conversationCreated(), { project }))
    let [acknowledged, refused] = [0, '']
    let heard: (() => void) | undefined
    const child = startChild({
      program: 'fenced-node.mjs',
      args: [JSON.stringify({ store: url, project, lease, forMs })],
      onLine(line) {
        const report = JSON.parse(line)
        if (report.version) acknowledged = report.version
        if (report.refused) refused = report.refused
        heard?.()
      },
    })
    while (acknowledged === 0) await new Promise<void>(resolve => (heard = resolve))
    process.kill(child.pid, 'SIGSTOP')
    // By the server's clock; asked for again and again, as a node does that waits for its turn.
    let newLease: Awaited<ReturnType<StoreCalls['claim']>> | undefined
    while (!newLease)
      newLease = await store.claim({ project, name: lease, holder: 'next', forMs: 60_000 }).catch(() => undefined)
    const fence = { name: lease, generation: newLease.generation }
    const { events } = await store.append(proposal('c', messageAdded('taken over'), { project, fence }))
    process.kill(child.pid, 'SIGCONT')
    const { code, words } = await child.ended
    if (code !== 0) problems.push(`the stopped node ended with ${code}: ${words}`)
    if (refused !== 'lease/lost') problems.push(`the late write of the stopped node was answered with "${refused}"`)
    const after = await store.read({ project, conversationId: 'c', from: events[0]!.version + 1 })
    if (after.some(event => event.actor === 'stopped')) problems.push('the stopped node wrote after it lost its lease')
    return problems
  } finally {
    await store.close()
  }
}

export interface OutageReport {
  acknowledged: number
  outages: number
  /** From when the server takes connections again to the next acknowledgement, at the worst. */
  slowestBackMs: number
  problems: string[]
}

/** Callers write without a break while something happens to the server; afterwards everything acknowledged is looked for. */
export async function underOutages(
  urls: readonly string[],
  { outages, each, disturb }: { outages: number; each: number; disturb: (outage: number) => Promise<void> },
): Promise<OutageReport> {
  const stores = await Promise.all(urls.map(url => postgresStore(url, { clock: Date.now, busyTimeoutMs: 60_000 })))
  const acknowledged: string[] = []
  const problems: string[] = []
  let isOver = false
  let slowestBackMs = 0
  try {
    const id = `outages ${performance.now()}`
    await stores[0]!.append(proposal(id, conversationCreated(), { project }))
    const seenTexts: string[] = []
    const following = stores[0]!.subscribe({ project, from: 'start' })
    const isFollowed = (async () => {
      for await (const event of following) if (event.conversationId === id) seenTexts.push(...textsIn([event]))
    })()
    const writing = Promise.all(
      stores.flatMap((store, node) =>
        [0, 1, 2, 3].map(async writer => {
          for (let i = 0; !isOver; i++) {
            const words = `${node} ${writer} ${i}`
            await store.append(proposal(id, messageAdded(words), { project }))
            acknowledged.push(words)
          }
        }),
      ),
    ).catch(error => problems.push(`an append was refused: ${error}`))
    const progress = async (wanted: number) => {
      while (acknowledged.length < wanted && problems.length === 0) await pass(1)
    }
    for (let outage = 0; outage < outages && problems.length === 0; outage++) {
      await progress(acknowledged.length + each)
      await disturb(outage)
      const back = performance.now()
      await progress(acknowledged.length + 1)
      slowestBackMs = Math.max(slowestBackMs, performance.now() - back)
    }
    await progress(acknowledged.length + each)
    isOver = true
    await writing
    const stored: string[] = []
    for (let from = 1; ; ) {
      const events = await stores[0]!.read({ project, conversationId: id, from, limit: 5000 })
      if (events.length === 0) break
      stored.push(...textsIn(events))
      from = events.at(-1)!.version + 1
    }
    // One that never gets there is a problem to report, not one to wait for.
    const late = performance.now() + longestWaitMs
    while (seenTexts.length < stored.length && performance.now() < late) await pass(5)
    await following.return?.()
    await isFollowed
    const storedTexts = new Set(stored)
    for (const words of acknowledged) if (!storedTexts.has(words)) problems.push(`lost: ${words}`)
    if (storedTexts.size !== stored.length) problems.push(`${stored.length - storedTexts.size} messages stand twice`)
    if (seenTexts.join() !== stored.join()) problems.push('the subscriber saw something else than the log says')
    const { damages } = await stores[0]!.verify({ project })
    problems.push(...damages.map(one => `${one.conversationId} ${one.version ?? ''}: ${one.what}`))
    return { acknowledged: acknowledged.length, outages, slowestBackMs, problems }
  } finally {
    isOver = true
    await Promise.all(stores.map(store => store.close()))
  }
}

/** Connections are cut at random moments, before the server heard or after it answered. */
export async function underCuts(
  server: PostgresServer,
  { appends, choose }: { appends: number; choose: ReturnType<typeof random> },
): Promise<OutageReport> {
  const proxy = await openCutProxy(server.socketFolder)
  try {
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`
    return await underOutages([url, url], {
      outages: 1,
      each: Math.floor(appends / 2),
      async disturb() {
        proxy.cutBy(() => (choose.below(40) === 0 ? choose.pick(['before', 'after'] as const) : undefined))
        const cutGoal = proxy.cuts + Math.max(5, Math.floor(appends / 50))
        const late = performance.now() + longestWaitMs
        while (proxy.cuts < cutGoal && performance.now() < late) await pass(1)
        proxy.cutBy(() => undefined)
      },
    }).then(report => ({ ...report, outages: proxy.cuts }))
  } finally {
    proxy.close()
  }
}

/** The primary is killed and its synchronous standby promoted. */
export async function failover({ each }: { each: number }): Promise<OutageReport> {
  const servers = await startReplicated()
  try {
    return await underOutages([servers.url, servers.url], {
      outages: 1,
      each,
      async disturb() {
        await servers.primary.crash()
        await servers.promote()
      },
    })
  } finally {
    await servers.remove()
  }
}
