/** A repair that cannot write fails: having repaired nothing is not the same as having found nothing wrong. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { repair } from '../../../log/upkeep/repair.ts'
import { openDatabase } from '../database.ts'
import { makeSchema } from '../open-schema.ts'
import { rowStore } from './row-store.ts'

it('repair fails when another process has the write lock', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-repair-'))
  const path = join(folder, 'colloquy.db')
  const other = openDatabase({ path, durability: 'relaxed' })
  const rows = rowStore({ path, durability: 'relaxed', epoch: 'e', busyTimeoutMs: 0, reindex: async () => 0 })
  onTestFinished(() => {
    other.close()
    rows.close()
    rmSync(folder, { recursive: true })
  })
  makeSchema(other)
  other.exec(`
    insert into projects (project, id, created_at) values (1, 'shop', 0);
    insert into conversations (project, id, work_key, work_type, status, created_at, recent_at, info)
    values (1, 'a', 'thread a', 'thread', 'active', 0, 0, '{}')`)
  other.exec('begin immediate')
  await expect(repair(rows, {})).rejects.toThrow('is locked by another process')
  other.exec('rollback')
  await expect(repair(rows, {})).resolves.toEqual({ heads: [], indexed: 0 })
})
