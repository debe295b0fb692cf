/** One message after another: what a durable append costs at each length of history. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Colloquy } from 'colloquy'
import { bareRow, bareRows, bareStore } from './baselines/bare.ts'
import { jsonFile } from './baselines/json-file.ts'
import { type ClosedFiles, firstAppends } from './first-appends.ts'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { median, percentile, Rounds, type Samples, timed } from './support/measure.ts'
import { buildHistory, caughtUp, copyStore, newSession, openAt, paddingLike, type Tokens } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { messages } from './support/text.ts'
import { count, milliseconds } from './support/units.ts'

export const append: Benchmark = {
  name: 'append',
  title: 'Append one message after another',
  about:
    'p50 of one durable append of 400 bytes, next to a bare prepared insert of the same bytes. The last column rewrites a whole JSON file for each message, without a sync. First come the 300 appends after a file was opened, which is how most programs write. There the log of the baseline still grows, and each of its syncs waits for that; ours is grown ahead. Then comes the steady state, a thousand appends in every round. Both logs have reached their size and are overwritten in place, so what is left is our own work. `docs/internals/performance.md` says where the time goes.',
  run: (sizes, tell) => inTemporaryFolder(folder => run(folder, sizes, tell)),
}

const tokenKinds: readonly Tokens[] = ['exact', 'fast']

async function run(folder: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const fields: Field[] = []
  try {
    for (const size of sizes.histories) {
      tell(`building histories of ${count(size)}`)
      fields.push(await prepare(join(folder, String(size)), size))
    }
    for (let round = -1; round < sizes.rounds; round++) {
      tell(round < 0 ? 'warming up' : `round ${round + 1} of ${sizes.rounds}`)
      for (const field of fields) await field.round(sizes, round < 0)
    }
    for (const field of fields) await field.close()
    const first: Finding[] = []
    for (const kind of tokenKinds) {
      for (const { files } of fields) {
        tell(`just opened at ${count(files.size)}`)
        first.push(await firstAppends(sizes, kind, files))
      }
    }
    const documents = new Map<number, string>()
    for (const { size } of fields) {
      tell(`one JSON file at ${count(size)}`)
      documents.set(size, milliseconds(await rewriteFile(join(folder, `${size}.json`), size, sizes.roundMs)))
    }
    for (const [index, finding] of first.entries())
      finding.document = documents.get(fields[index % fields.length]!.size)!
    return [...first, ...findings(fields)]
  } finally {
    for (const field of fields) await field.close()
  }
}

interface Field {
  size: number
  files: ClosedFiles
  rounds: Record<Tokens, Rounds>
  slowest: Record<Tokens, number[]>
  round(sizes: Sizes, isWarmUp: boolean): Promise<void>
  close(): Promise<void>
}

/** The stores of one history size, kept open so that all sizes take part in every round. */
async function prepare(path: string, size: number): Promise<Field> {
  mkdirSync(path)
  const history = await buildHistory(join(path, 'ours.db'), Math.max(size, 1), size)
  const padding = paddingLike(history.path)
  const bare = bareStore(join(path, 'bare.db'))
  const next = messages(size + 1)
  bare.insertAll(bareRows(Array.from({ length: size }, next), { conversation: 1, padding }))
  const paths: Record<Tokens, string> = { fast: copyStore(history.path, path), exact: history.path }
  const ours: Record<Tokens, Colloquy> = {
    fast: await openAt(paths.fast, { tokens: 'fast' }),
    exact: await openAt(paths.exact, { tokens: 'exact' }),
  }
  for (const kind of tokenKinds) await caughtUp(ours[kind])
  const rounds = { exact: new Rounds(), fast: new Rounds() }
  const slowest: Record<Tokens, number[]> = { exact: [], fast: [] }
  let conversation = 1
  let version = size
  let sessions = 0
  let isClosed = false

  /** At history 0 a conversation is left after a hundred messages, so that it stays near 0. */
  const perConversation = size === 0 ? 100 : Number.POSITIVE_INFINITY

  async function appendBare(sizes: Sizes): Promise<Samples> {
    return inConversations(sizes, async times => {
      if (size === 0) {
        conversation++
        version = 0
      }
      const rows = Array.from({ length: times }, () => bareRow(next(), { conversation, version: ++version, padding }))
      return timed({ times, atMostMs: sizes.roundMs }, index => bare.insert(rows[index]!))
    })
  }

  async function appendOurs(kind: Tokens, sizes: Sizes): Promise<Samples> {
    const samples = await inConversations(sizes, async times => {
      const session = size === 0 ? await newSession(ours[kind], `at 0, ${++sessions}`) : history.session
      const texts = Array.from({ length: times }, next)
      const { sessions: manager } = ours[kind]
      return timed({ times, atMostMs: sizes.roundMs }, index =>
        manager.addMessage(session, { role: 'user', content: texts[index]! }),
      )
    })
    // Finishes pending work of the index, so that it does not run during the baseline.
    await caughtUp(ours[kind])
    return samples
  }

  async function inConversations(sizes: Sizes, part: (times: number) => Promise<Samples>): Promise<Samples> {
    const samples: number[] = []
    const end = performance.now() + sizes.roundMs
    while (samples.length < sizes.perRound && performance.now() < end) {
      samples.push(...(await part(Math.min(perConversation, sizes.perRound - samples.length))))
    }
    return samples
  }

  return {
    size,
    files: { size, padding, ours: paths, bare: join(path, 'bare.db'), session: history.session },
    rounds,
    slowest,
    async round(sizes, isWarmUp) {
      for (const kind of tokenKinds) {
        const baseline = median(await appendBare(sizes))
        const samples = await appendOurs(kind, sizes)
        if (isWarmUp) continue
        rounds[kind].add({ baseline, ours: median(samples) })
        slowest[kind].push(percentile(samples, 0.95))
      }
    },
    async close() {
      if (isClosed) return
      isClosed = true
      bare.close()
      for (const one of Object.values(ours)) await one.close()
    },
  }
}

/** Appends to one JSON file, a few times only: at 50,000 messages each takes a good part of a second. */
async function rewriteFile(path: string, size: number, atMostMs: number): Promise<number> {
  const next = messages(size + 2)
  const session = jsonFile(path, Array.from({ length: size }, next))
  return median(await timed({ times: 30, atMostMs }, () => session.add(next())))
}

function findings(fields: readonly Field[]): Finding[] {
  const findings: Finding[] = []
  for (const kind of tokenKinds) {
    for (const { size, rounds, slowest } of fields) {
      const { ours, baseline, ratio, spread } = rounds[kind]
      findings.push({
        what: `history of ${count(size)}, steady state, ${kind} token counts`,
        ours: `${milliseconds(median(ours))} (p95 ${milliseconds(median(slowest[kind]))})`,
        baseline: milliseconds(median(baseline)),
        ratio,
        spread,
      })
    }
  }
  for (const kind of tokenKinds) findings.push(growth(kind, fields[0]!, fields.at(-1)!))
  return findings
}

/** Ours at the longest history against ours at none, round by round. */
function growth(kind: Tokens, none: Field, longest: Field): Finding {
  const across = new Rounds()
  longest.rounds[kind].ours.forEach((ours, round) => {
    across.add({ ours, baseline: none.rounds[kind].ours[round]! })
  })
  return {
    what: `ours at ${count(longest.size)} to ours at ${count(none.size)}, ${kind} token counts`,
    ours: milliseconds(median(across.ours)),
    baseline: `${milliseconds(median(across.baseline))} (ours)`,
    ratio: across.ratio,
    spread: across.spread,
    target: { atMost: 1.15 },
  }
}
