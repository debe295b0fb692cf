/**
 * `npm run torture`: the long versions of the short torture tests. Stops by itself; exits with 1 when a promise was
 * broken.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openColloquy } from 'colloquy'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { killedChat } from './chat.ts'
import { compactionRaces } from './compaction-races.ts'
import { damageRounds } from './damage.ts'
import { killDemo } from './demo.ts'
import { faults, losePower, underFault } from './faults.ts'
import { fuzz } from './fuzz.ts'
import { type KillReport, killWriters } from './kill.ts'
import { listeners } from './listeners.ts'
import { pages } from './pages.ts'
import { failover, manyNodes, type OutageReport, stoppedNode, underCuts, underOutages } from './postgres-nodes.ts'
import { freshSeed, random } from './random.ts'
import { requestPromises } from './requests.ts'
import { compileShim, noShim } from './shim.ts'
import { storm } from './storm.ts'
import { madeBeads, recordedBeads, recordedBeadsAreThere } from './storm-beads.ts'

const usage = `npm run torture -- [kill|faults|damage|requests|compaction-races|chat|postgres|postgres-nodes|postgres-outages|fuzz|listeners|demo|storm|pages|all] [--cycles N] [--rounds N] [--cases N] [--seed S]

  kill     kill -9 in a loop under 4 writers on one file   (--cycles, default 100)
  faults   failing writes and syncs, and loss of power     (--rounds, default 1 time through all faults)
  damage   random damage to a closed store                 (--rounds, default 200)
  requests the promises about requests over random logs    (--cases, default 20000, about 100 a second; --first N
           starts at that case, so that one that failed can be had again)
  compaction-races
           two programs compact a session, a third appends (--rounds, default 500)
  chat     300 turns of an agent with tools, killed -9     (--cycles, default 30)
  postgres kill -9 of 4 nodes, and of the server under them (--cycles, default 50)
  postgres-nodes
           3 nodes × 16 callers that all follow, nodes stopped past their lease (--cases, appends, default 100000)
  postgres-outages
           restarts of the server, cut connections, failover to a standby (--cycles, default 50)
  listeners
           1,000 live streams over 50 conversations at 500 appends a second, and 100 that never read
           (--rounds, seconds, default 60; --cases, streams, default 1000)
  demo     kill -9 of a team at random points of the demo  (--cycles, default 50; 10 kills in each demo)
  storm    200 beads with real dependencies, agents that fail and loop, 3 nodes on PostgreSQL, one killed every 10
           seconds (--cases, beads, default 200; --rounds, seconds between kills, default 10)
  pages    a conversation of 100,000 messages in a browser: first paint, scrolling, memory
           (--cases, messages, default 100000; --rounds, jumps, default 300)
  fuzz     odd requests to every endpoint of the server    (--cases, default 100000)
  all      all of them (default)`

interface Settings {
  cycles: number | undefined
  rounds: number | undefined
  cases: number | undefined
  first: number | undefined
  seed: number
}

type Torture = (folder: string, settings: Settings) => Promise<string[]>

const tortures: Record<string, Torture> = {
  kill,
  faults: fail,
  damage,
  requests,
  'compaction-races': races,
  chat,
  postgres: onServer(killedNodes),
  'postgres-nodes': onServer(followedNodes),
  'postgres-outages': onServer(outages),
  fuzz: fuzzServer,
  listeners: live,
  demo: team,
  storm: stormy,
  pages: scroll,
}

async function kill(folder: string, { cycles = 100, seed }: Settings): Promise<string[]> {
  const report = await killWriters({
    folder,
    cycles,
    seed,
    onCycle: (cycle, acknowledged) => progress(`cycle ${cycle} of ${cycles}, ${acknowledged} acknowledged`),
  })
  return printKillReport(report)
}

/** On a server of its own, removed afterwards. */
function onServer(work: (server: PostgresServer, folder: string, settings: Settings) => Promise<string[]>): Torture {
  return async (folder, settings) => {
    const server = await startPostgres()
    try {
      return await work(server, folder, settings)
    } finally {
      await server.remove()
    }
  }
}

/** Every other cycle the server crashes too. */
async function killedNodes(server: PostgresServer, folder: string, settings: Settings): Promise<string[]> {
  const { cycles = 50, seed } = settings
  let crashes = 0
  let slowest = 0
  const report = await killWriters({
    folder,
    cycles,
    seed,
    store: server.urlOf('postgres'),
    async disturb(cycle) {
      if (cycle % 2 === 0) return
      const started = performance.now()
      await server.crashAndRestart()
      slowest = Math.max(slowest, performance.now() - started)
      crashes++
    },
    onCycle: (cycle, acknowledged) => progress(`cycle ${cycle} of ${cycles}, ${acknowledged} acknowledged`),
  })
  say(`The server crashed ${crashes} times and was back after ${Math.round(slowest)} ms at the most.`)
  return printKillReport(report)
}

async function followedNodes(server: PostgresServer, _: string, { cases = 100_000 }: Settings): Promise<string[]> {
  const [nodes, writers] = [3, 16]
  const each = Math.ceil(cases / nodes / writers)
  const url = `${server.urlOf('postgres')}&schema=nodes`
  const report = await manyNodes(url, { nodes, writers, each, onSeen: seen => progress(`${seen} seen`) })
  say(
    `${nodes} nodes × ${writers} callers: ${report.appended} appends in ${Math.round(report.seconds)} s, the slowest ${Math.round(report.slowestMs)} ms; ${report.problems.length} problems.`,
  )
  const problems = [...report.problems]
  for (let round = 0; round < 5; round++) {
    progress(`stopped node, round ${round + 1} of 5`)
    problems.push(...(await stoppedNode(url, { forMs: 2000 })))
  }
  say('5 times a node was stopped past its lease and went on: its late writes were refused.')
  return problems
}

async function outages(server: PostgresServer, _: string, { cycles = 50, seed }: Settings): Promise<string[]> {
  const url = `${server.urlOf('postgres')}&schema=outages`
  const tell = (what: string, { acknowledged, outages, slowestBackMs, problems }: OutageReport) => {
    say(
      `${what}: ${outages} times, ${acknowledged} acknowledged, ${problems.length} problems; the next append was acknowledged ${Math.round(slowestBackMs)} ms after the server was back, at the most.`,
    )
    return [...problems, ...(slowestBackMs > 5000 ? [`${what}: back only after ${slowestBackMs} ms`] : [])]
  }
  progress('restarts')
  const restarts = await underOutages([url, url], {
    outages: Math.ceil(cycles / 5),
    each: 200,
    disturb: () => server.crashAndRestart(),
  })
  const problems = tell('Restarts of the server', restarts)
  progress('cuts')
  problems.push(...tell('Connections cut', await underCuts(server, { appends: cycles * 100, choose: random(seed) })))
  for (let round = 1; round <= Math.ceil(cycles / 10); round++) {
    progress(`failover ${round}`)
    problems.push(...tell('Primary killed, standby promoted', await failover({ each: 500 })))
  }
  return problems
}

function printKillReport(report: KillReport): string[] {
  const { lost, gaps, duplicates, damages, crashes, starved, share } = report
  say(`${report.cycles} cycles, ${report.kills} kills: ${report.acknowledged} acknowledged, ${report.stored} stored.`)
  say(`${lost.length} lost, ${gaps.length} gaps, ${duplicates.length} duplicates, ${damages.length} damages.`)
  say(`${report.replayed} stored without an answer, asked for again by their key and answered with the first result.`)
  say(
    `Nobody starved: ${starved.length === 0}. Shares of four writers: ${percent(share.min)} to ${percent(share.max)}.`,
  )
  return [...lost.map(one => `lost: ${one}`), ...gaps, ...duplicates, ...damages, ...crashes, ...starved]
}

async function fail(folder: string, { rounds = 1, seed }: Settings): Promise<string[]> {
  if (noShim !== undefined) {
    say(`Left out: ${noShim}.`)
    return []
  }
  const library = compileShim(folder)
  const problems: string[] = []
  for (let round = 1; round <= rounds; round++) {
    progress(`losing power (${round} of ${rounds})`)
    const loss = await losePower({ folder, library, appends: 400, losses: 40, seed: seed + round })
    say(`Power lost ${loss.losses} times: ${loss.acknowledged} acknowledgements, ${loss.walSyncs} syncs before them.`)
    problems.push(...loss.unsynced, ...loss.problems)
    for (const fault of faults) {
      const report = await underFault({ folder, library, fault, appends: 200 })
      const [appends, others] = [report.refused, report.refusedBeside].map(
        counts =>
          Object.entries(counts)
            .map(([code, count]) => `${count} × ${code}`)
            .join(', ') || 'none',
      )
      say(
        `${report.fault}: ${report.acknowledged} acknowledged; refused appends: ${appends}; other refusals: ${others}.`,
      )
      problems.push(...report.problems.map(problem => `${report.fault}: ${problem}`))
    }
  }
  return problems
}

async function damage(folder: string, { rounds = 200, seed }: Settings): Promise<string[]> {
  const report = await damageRounds({
    folder,
    rounds,
    seed,
    onRound: ({ round, outcome }) => progress(`round ${round + 1} of ${rounds}: ${outcome}`),
  })
  const outcomes = Object.entries(report.outcomes).map(([outcome, count]) => `${count} ${outcome}`)
  say(`${report.rounds} rounds of ${report.written} messages: ${outcomes.join(', ')}.`)
  say(`${report.same} read as written, ${report.marked} marked as damaged, ${report.rescued} rescued as written.`)
  return report.problems
}

async function requests(_: string, { cases = 20_000, first = 0, seed }: Settings): Promise<string[]> {
  const started = performance.now()
  const report = await requestPromises({
    cases,
    first,
    seed,
    onCase(done, broken) {
      const seconds = (performance.now() - started) / 1000
      progress(`case ${done} of ${cases}, ${broken} broken, ${Math.round(done / seconds)} a second`)
      if (done % 10_000 === 0) say(`${done} cases in ${Math.round(seconds)} s, ${broken} broken.`)
    },
    onProblem: problem => say(problem),
  })
  const { asked, refused, checkpoints, compacted, omitted } = report
  say(`${report.cases} cases: ${asked} requests, ${refused} refused for their budget, ${checkpoints} on a checkpoint,`)
  say(`${omitted} with messages left out; ${compacted} compactions on demand.`)
  return report.problems
}

async function races(folder: string, { rounds = 500, seed }: Settings): Promise<string[]> {
  const onRace = (race: number) => progress(`race ${race} of ${rounds}`)
  const report = await compactionRaces({ folder, races: rounds, seed, onRace })
  say(`${report.races} races: ${report.checkpoints} checkpoints, ${report.added} messages added in between.`)
  return report.problems
}

async function chat(folder: string, { cycles = 30, seed }: Settings): Promise<string[]> {
  const onKill = (kill: number) => progress(`kill ${kill} of ${cycles}`)
  const report = await killedChat({ folder, turns: 300, budget: 30_000, kills: cycles, seed, onKill })
  const { turns, kills, requests, checkpoints, crashed } = report
  say(`${turns} turns, ${kills} kills: ${requests} requests, ${checkpoints} checkpoints, ${crashed} runs crashed.`)
  return report.problems
}

async function fuzzServer(folder: string, { cases = 100_000, seed }: Settings): Promise<string[]> {
  const colloquy = await openColloquy({
    store: `sqlite:${join(folder, 'fuzz.db')}`,
    project: 'shop',
    tokens: 'fast',
    sweepEveryMs: null,
  })
  const onRequest = (done: number) => progress(`request ${done} of ${cases}`)
  const report = await fuzz({ colloquy, requests: cases, seed, onRequest })
  const { clean } = await colloquy.verify()
  await colloquy.close()
  const statuses = Object.entries(report.statuses).map(([status, count]) => `${count} × ${status}`)
  say(`${report.requests} requests: ${statuses.join(', ')}.`)
  say(
    `The slowest (${report.slowest}) took ${Math.round(report.slowestMs)} ms; ${report.overOneSecond} took over a second.`,
  )
  return [...report.problems, ...(clean ? [] : ['the log is damaged'])]
}

/** Ten kills in each demo, and the files of all of them must be the same. */
async function team(folder: string, { cycles = 50, seed }: Settings): Promise<string[]> {
  const problems: string[] = []
  const trees = new Set<string>()
  let kills = 0
  for (let round = 0; kills < cycles; round++) {
    const report = await killDemo({
      folder: join(folder, `demo-${round}`),
      kills: Math.min(10, cycles - kills),
      seed: seed + round,
      onKill: (kill, at) => progress(`kill ${kills + kill} of ${cycles}: ${at}`),
    })
    kills += report.kills
    trees.add(report.tree)
    problems.push(...report.problems.map(problem => `demo ${round}: ${problem}`))
    // A demo that ends before its first kill must not repeat without end.
    if (report.kills === 0) kills++
  }
  say(`${kills} kills in ${trees.size === 1 ? 'demos that all ended with the same files' : 'demos'}.`)
  return trees.size > 1 ? [...problems, `the files differ: ${[...trees].join(', ')}`] : problems
}

async function live(folder: string, { rounds = 60, cases = 1000 }: Settings): Promise<string[]> {
  const store = `sqlite:${join(folder, 'listeners.db')}`
  const colloquy = await openColloquy({ store, project: 'shop', tokens: 'fast', sweepEveryMs: null })
  const report = await listeners({
    colloquy,
    conversations: 50,
    clients: cases,
    deaf: Math.ceil(cases / 10),
    appendsPerSecond: 500,
    seconds: rounds,
    onSecond: appended => progress(`${appended} appended`),
  })
  await colloquy.close()
  const { appended, tookSeconds, received, dropped, delay, grownMb } = report
  say(
    `${appended} appended in ${tookSeconds.toFixed(0)} s, ${received} received by ${cases} clients; ${dropped} that never read were cut off.`,
  )
  say(
    `Delay of the event loop: ${delay.p50.toFixed(0)} ms (median), ${delay.p99.toFixed(0)} ms (99 %), ${delay.max.toFixed(0)} ms; clients in the same process.`,
  )
  say(`The process grew by ${grownMb.toFixed(0)} MB, its clients included.`)
  return report.problems
}

async function stormy(_: string, { cases = 200, rounds = 10, seed }: Settings): Promise<string[]> {
  if (!recordedBeadsAreThere) say('The recorded beads are not here: the graph is made up.')
  const server = await startPostgres()
  try {
    const report = await storm({
      store: server.urlOf('postgres'),
      beads: recordedBeadsAreThere ? recordedBeads(cases) : madeBeads(cases, seed),
      looperEvery: 20,
      nodes: 3,
      killEveryMs: rounds * 1000,
      failShare: 0.3,
      moreShare: 0.1,
      workMs: 2_000,
      leaseMs: 5_000,
      concurrency: 2,
      hopLimit: 20,
      seed,
      withinMs: 3_600_000,
      onProgress: (done, parked, kills) => progress(`${done} done, ${parked} parked of ${cases}; ${kills} kills`),
    })
    const { beads, done, parked, kills, dispatches, crashed, failed, tripped, tookMs } = report
    say(`${beads} beads in ${Math.round(tookMs / 1000)} s under ${kills} kills: ${done} done, ${parked} parked.`)
    say(`${dispatches} dispatches, of which ${failed} failed and ${crashed} died with their node.`)
    say(
      `Guards: ${
        Object.entries(tripped)
          .map(([kind, count]) => `${count} × ${kind}`)
          .join(', ') || 'none'
      }.`,
    )
    return report.problems
  } finally {
    await server.remove()
  }
}

async function scroll(folder: string, { cases = 100_000, rounds = 300, seed }: Settings): Promise<string[]> {
  const store = `sqlite:${join(folder, 'pages.db')}`
  const colloquy = await openColloquy({ store, project: 'shop', tokens: 'fast', sweepEveryMs: null })
  const lengths = [10, 10_000, cases].filter((length, index) => index === 0 || length <= cases)
  const report = await pages({
    colloquy,
    lengths: [...new Set(lengths)],
    jumps: rounds,
    seed,
    onJump: done => progress(`${done} jumps`),
  })
  await colloquy.close()
  const { firstPaint, mostRows, mostNodes, heapMb } = report
  say(
    `First paint: ${[...firstPaint].map(([length, ms]) => `${ms.toFixed(0)} ms with ${length} messages`).join(', ')}.`,
  )
  say(`At most ${mostRows} rows and ${mostNodes} elements on the page.`)
  say(
    `The page's memory: ${heapMb.before.toFixed(1)} MB before, ${heapMb.most.toFixed(1)} MB at most, ${heapMb.after.toFixed(1)} MB after.`,
  )
  return report.problems
}

const say = (text: string) => console.log(text)

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

function wholeNumber(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 0) return value
  say(`--${name} wants a whole number.\n\n${usage}`)
  process.exit(2)
}

async function main(): Promise<void> {
  const options = {
    cycles: { type: 'string' },
    rounds: { type: 'string' },
    cases: { type: 'string' },
    first: { type: 'string' },
    seed: { type: 'string' },
    help: { type: 'boolean' },
  } as const
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const [wanted = 'all'] = positionals
  const names = wanted === 'all' ? Object.keys(tortures) : [wanted]
  if (values.help || names.some(name => !(name in tortures))) {
    say(usage)
    process.exit(values.help ? 0 : 2)
  }
  const settings: Settings = {
    cycles: wholeNumber(values.cycles, 'cycles'),
    rounds: wholeNumber(values.rounds, 'rounds'),
    cases: wholeNumber(values.cases, 'cases'),
    first: wholeNumber(values.first, 'first'),
    seed: wholeNumber(values.seed, 'seed') ?? freshSeed(),
  }
  say(`Seed ${settings.seed}: --seed ${settings.seed} makes the same choices again.`)
  let broken = 0
  for (const name of names) {
    const started = performance.now()
    const folder = mkdtempSync(join(tmpdir(), `colloquy-torture-${name}-`))
    say(`\n${name}`)
    const problems = await tortures[name]!(folder, settings)
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    for (const problem of problems.slice(0, 50)) say(`  BROKEN: ${problem}`)
    say(`${name}: ${problems.length} problems in ${Math.round((performance.now() - started) / 1000)} s.`)
    broken += problems.length
    if (problems.length === 0) rmSync(folder, { recursive: true, force: true })
    else say(`The files are kept in ${folder}.`)
  }
  process.exitCode = broken === 0 ? 0 : 1
}

await main()
