/** A repair that cannot write says so: having put nothing right is not the same as having found nothing wrong. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../database.ts'
import { makeSchema } from '../open-schema.ts'
import { repairer } from './repair.ts'

it('fails when another process has the write lock', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-repair-'))
  const path = join(folder, 'colloquy.db')
  const [database, other] = [
    openDatabase({ path, durability: 'relaxed' }),
    openDatabase({ path, durability: 'relaxed' }),
  ]
  onTestFinished(() => {
    other.close()
    database.close()
    rmSync(folder, { recursive: true })
  })
  makeSchema(database)
  database.exec(`
    insert into projects (project, id, created_at) values (1, 'shop', 0);
    insert into conversations (project, id, work_key, work_type, status, created_at, recent_at, info)
    values (1, 'a', 'thread a', 'thread', 'active', 0, 0, '{}')`)
  const repair = () => repairer(database)({ onProgress: () => undefined })
  other.exec('begin immediate')
  await expect(repair()).rejects.toThrow('database is locked')
  other.exec('rollback')
  await expect(repair()).resolves.toEqual([])
})
