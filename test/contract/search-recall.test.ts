/** Both stores find the same: how often the message that is meant is among the first hits may differ by 3 points at most. */
import { readFileSync } from 'node:fs'
import { postgresStore } from 'colloquy/postgres'
import { sqliteStore } from 'colloquy/sqlite'
import type { StoreCalls } from 'colloquy/stores'
import { expect, it, onTestFinished } from 'vitest'
import { messages as prose } from '../../bench/support/text.ts'
import { conversationCreated, messageAdded, proposal } from '../../src/testing/builders.ts'
import { freshSchema } from '../support/postgres.ts'
import { piSession, piSessionIsThere, recordedMessages } from '../support/recordings/pi-session.ts'

const project = 'shop'
const first = 10

async function bothStores(): Promise<StoreCalls[]> {
  const { url } = await freshSchema()
  const stores = [
    await sqliteStore(':memory:', { clock: Date.now }),
    await postgresStore(url, { clock: Date.now, connections: 4 }),
  ]
  onTestFinished(async () => {
    for (const store of stores) await store.close()
  })
  return stores
}

/** Which share of queries finds its message among the first hits, in each store; and how alike the hits are. */
async function compare(texts: readonly string[], queries: ReadonlyArray<{ at: number; words: string }>) {
  const stores = await bothStores()
  const facts = texts.map(text => messageAdded(text))
  for (const store of stores) {
    await store.append(proposal('c', conversationCreated()))
    for (let i = 0; i < facts.length; i += 100) await store.append(proposal('c', facts.slice(i, i + 100)))
  }
  const found = [0, 0]
  let shared = 0
  let shown = 0
  for (const { at, words } of queries) {
    const hits = await Promise.all(
      stores.map(async store => (await store.search({ project, text: words, limit: first })).map(hit => hit.messageId)),
    )
    for (const [index, ids] of hits.entries()) if (ids.includes(facts[at]!.messageId)) found[index]!++
    shown += Math.max(hits[0]!.length, hits[1]!.length)
    shared += hits[0]!.filter(id => hits[1]!.includes(id)).length
  }
  const [sqlite, postgres] = found.map(count => (100 * count) / queries.length) as [number, number]
  return { sqlite, postgres, alike: shown === 0 ? 100 : (100 * shared) / shown }
}

/** For every so-manieth text, words of it that few others have. */
function queriesFor(texts: readonly string[], every: number): Array<{ at: number; words: string }> {
  const wordsIn = (text: string) => [...new Set(text.toLowerCase().match(/\p{L}{4,20}/gu) ?? [])]
  const counts = new Map<string, number>()
  for (const text of texts) for (const word of wordsIn(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return texts.flatMap((text, at) => {
    if (at % every !== 0) return []
    const rare = wordsIn(text).sort((a, b) => counts.get(a)! - counts.get(b)! || (a < b ? -1 : 1))
    // Not the very rarest: those alone would find it anywhere.
    const words = rare.slice(1, 4).join(' ')
    return words === '' ? [] : [{ at, words }]
  })
}

it('search ranks the right message high in prose made up for it', async () => {
  const next = prose(3)
  const texts = Array.from({ length: 600 }, next)
  const { sqlite, postgres, alike } = await compare(texts, queriesFor(texts, 6))
  expect(Math.abs(sqlite - postgres)).toBeLessThanOrEqual(3)
  expect(sqlite).toBeGreaterThan(50)
  expect(alike).toBeGreaterThan(90)
}, 60_000)

it.runIf(piSessionIsThere)(
  'search ranks the right message high in a recorded coding session',
  async () => {
    const texts = recordedMessages(readFileSync(piSession, 'utf8')).messages.flatMap(({ content, parts }) => {
      const text = content ?? parts?.map(part => ('text' in part ? part.text : '')).join(' ') ?? ''
      return text.length > 40 ? [text] : []
    })
    const { sqlite, postgres } = await compare(texts, queriesFor(texts, 3))
    expect(Math.abs(sqlite - postgres)).toBeLessThanOrEqual(3)
  },
  60_000,
)
