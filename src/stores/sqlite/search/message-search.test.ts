/** The index keeps no text of what it found. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { upkeepOver } from '../../../log/upkeep/upkeep-over.ts'
import { archiveLines } from '../../../testing/archives.ts'
import { openDatabase } from '../database.ts'
import { readEpoch } from '../epoch.ts'
import { makeSchema } from '../open-schema.ts'
import { rowStore } from '../upkeep/row-store.ts'
import { messageSearch } from './message-search.ts'
import { openSearchIndex } from './open-search-index.ts'

const project = 'shop'
const everyone = { audienceKey: 'everyone', audience: { to: 'everyone' }, kind: 'talk' }
const message = { role: 'user', tokens: [3, 'characters'], text: 'the secret is xylophone' }

async function filledStore() {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-search-'))
  const path = join(folder, 'colloquy.db')
  const log = openDatabase({ path, durability: 'relaxed' })
  makeSchema(log)
  const lines = archiveLines({ project, conversationId: 'c' }, [
    {
      type: 'conversation.created',
      schema: 1,
      body: { title: 'Login', workItem: { type: 'thread', threadId: 't' } },
    },
    {
      type: 'message.added',
      schema: 1,
      body: message,
      messageId: 'm',
      lane: everyone,
      adds: { messages: 1, tokens: 3, input: 0, output: 0 },
    },
  ])
  const settings = { path, durability: 'relaxed', epoch: readEpoch(log), readOnly: false } as const
  const rows = rowStore({ ...settings, busyTimeoutMs: 1000, reindex: async () => 0 })
  await upkeepOver(rows)('restorePage', { ticket: 't', project, lines, isLast: true, now: 0 })
  rows.close()
  const index = openSearchIndex({ ...settings, busyTimeoutMs: 1000 })
  onTestFinished(() => {
    index.close()
    log.close()
    rmSync(folder, { recursive: true })
  })
  await index.feed()
  return index
}

it('[P4] texts for snippets are gone with the answer, and were never in a file', async () => {
  const index = await filledStore()
  const search = messageSearch(index.database)
  // Twice: compiled statements are used again.
  for (const text of ['xylophone', 'secret']) {
    expect(search({ project, text })).toMatchObject([{ messageId: 'm', snippet: 'the secret is xylophone' }])
    expect(index.database.prepare('select name from temp.sqlite_schema').all()).toEqual([])
  }
  expect(index.database.prepare('pragma temp_store').get()).toEqual([2])
})
