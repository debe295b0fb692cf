/** Branches where many nodes write: no parent is purged while a branch is made. */

import { IllegalState, NotFound } from 'colloquy/errors'
import type { ArchivePlace } from 'colloquy/stores'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  asyncItems,
  conversationCreated,
  errorOf,
  linesOf,
  messageAdded,
  origin,
  proposal,
  textsIn,
} from '../../../src/testing/builders.ts'
import { openPostgres } from '../open-postgres.ts'

const project = 'shop'

async function sqlAt({ url, schema }: { url: string; schema: string }): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url.replace(/[?&]schema=\w+/, '') })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`set search_path = ${schema}`)
  return client
}

const branchOff = (conversationId: string, version = 2) =>
  conversationCreated({ branchOf: { conversationId, version } })

describe('a branch on many nodes', () => {
  it('[P4] a branch is made while another node purges its parent: one of the two is refused', async () => {
    const { store, another } = await openPostgres()
    const other = await another()
    for (let round = 0; round < 15; round++) {
      const [parent, branch] = [`parent ${round}`, `branch ${round}`]
      await store.append(proposal(parent, [conversationCreated(), messageAdded('one'), messageAdded('two')]))
      let branching: Promise<unknown> | undefined
      const begin = () => {
        branching ??= errorOf(() => other.append(proposal(branch, [branchOff(parent), messageAdded('else')])))
      }
      const to: ArchivePlace = {
        async write(_name, lines) {
          await linesOf(lines)
          if (round % 3 === 0) begin()
          // The archive takes its time; the branch may come before, while or after the parent goes.
          for (let turn = 0; turn < round; turn++) await new Promise(setImmediate)
          if (round % 3 === 1) begin()
          return 'archive'
        },
        remove: async () => {},
        read: () => asyncItems([]),
      }
      const purging = errorOf(() => store.purge({ project, conversationId: parent, to, origin }))
      if (round % 3 === 2) begin()
      const purged = await purging
      const branched = await branching
      const isThere = (await store.conversation(project, parent)) !== undefined
      if (isThere) expect([purged, branched]).toEqual([expect.any(IllegalState), undefined])
      else expect([purged, branched]).toEqual([undefined, expect.any(NotFound)])
      expect((await store.conversation(project, branch)) !== undefined).toBe(isThere)
    }
    expect((await store.verify()).damages).toEqual([])
  })

  it('[P13] verify reports a branch whose parent is gone', async () => {
    const opened = await openPostgres()
    await opened.store.append(proposal('parent', [conversationCreated(), messageAdded('one'), messageAdded('two')]))
    await opened.store.append(proposal('branch', [branchOff('parent'), messageAdded('else')]))
    const sql = await sqlAt(opened)
    await sql.query(`delete from events where version = 2`)
    const { damages } = await opened.store.verify()
    expect(damages).toContainEqual({
      project,
      conversationId: 'branch',
      version: 2,
      what: 'what it branches off is missing',
    })
    expect(textsIn(await opened.store.read({ project, conversationId: 'branch' }))).toEqual(['else'])
  })
})
