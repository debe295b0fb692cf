/** Full-text search over everything in a large store. */
import { setTimeout as rest } from 'node:timers/promises'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { largeStore } from './support/large-store.ts'
import { median, percentile, secondsOf } from './support/measure.ts'
import { caughtUp, openAt } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { randomFrom } from './support/text.ts'
import { count, milliseconds } from './support/units.ts'
import { adjectives, nouns, verbs } from './support/words.ts'

export const search: Benchmark = {
  name: 'search',
  title: 'Full-text search',
  about:
    'Twenty best hits with snippets over the whole store, neighbours taken into account, for queries of frequent and rare words; then the eight best of one conversation, as requests ask for what to recall. Before that the store rests for a few seconds, in which its index is optimised.',
  run,
}

async function run(sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const { conversations, messagesEach } = sizes.open
  const { path, sessions } = await largeStore(sizes.open, tell)
  const colloquy = await openAt(path)
  try {
    tell('letting the index catch up')
    const catchUp = await secondsOf(() => caughtUp(colloquy))
    await rest(sizes.search.restMs)
    const random = randomFrom(5)
    const words = [...nouns, ...verbs, ...adjectives]
    const word = () => words[Math.floor(random() * words.length)]!
    const findings: Finding[] = []
    for (const length of [1, 2, 4]) {
      tell(`queries of ${length} ${length === 1 ? 'word' : 'words'}`)
      const samples: number[] = []
      let hits = 0
      for (let i = 0; i < sizes.search.queriesOfEachLength; i++) {
        const text = Array.from({ length }, word).join(' ')
        const start = performance.now()
        const result = await colloquy.conversations.search({ text, limit: 20 })
        samples.push(performance.now() - start)
        hits += result.messages.length
      }
      findings.push({
        what: `${length} ${length === 1 ? 'word' : 'words'}, ${count(conversations * messagesEach)} messages`,
        ours: `p50 ${milliseconds(median(samples))}, p95 ${milliseconds(percentile(samples, 0.95))}, ${(hits / samples.length).toFixed(1)} hits`,
      })
    }
    tell('queries in one conversation')
    const samples: number[] = []
    for (let i = 0; i < sizes.search.queriesOfEachLength; i++) {
      const session = await colloquy.sessions.getSession(sessions[Math.floor(random() * sessions.length)]!)
      const text = Array.from({ length: 8 }, word).join(' ')
      const start = performance.now()
      await colloquy.conversations.search({ text, limit: 8, conversationId: session.conversationId })
      samples.push(performance.now() - start)
    }
    findings.push({
      what: `8 words, in one conversation of ${count(messagesEach)}`,
      ours: `p50 ${milliseconds(median(samples))}, p95 ${milliseconds(percentile(samples, 0.95))}`,
    })
    findings.push({ what: 'what was left to index when it was opened', ours: `${catchUp.toFixed(1)} s` })
    return findings
  } finally {
    await colloquy.close()
  }
}
