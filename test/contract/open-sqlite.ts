/** SQLite stores on temporary files: a fresh one, and one in use. */
import { join } from 'node:path'
import { sqliteStore } from 'colloquy/sqlite'
import { type StoreUnderTest, storeUnderTest } from 'colloquy/testing'
import { temporaryFolder } from '../support/temporary.ts'

export interface SqliteUnderTest extends StoreUnderTest {
  path: string
}

export async function openSqlite({ writesBefore = 0 } = {}): Promise<SqliteUnderTest> {
  const path = join(temporaryFolder(), 'colloquy.db')
  const underTest = await storeUnderTest(async clock => {
    const store = await sqliteStore(path, { clock })
    for (let writes = 0; writes < writesBefore; writes++) await store.forgetNode('nobody')
    return store
  })
  return Object.defineProperty(underTest, 'path', { value: path }) as SqliteUnderTest
}

/** A store that was written to for a while: the first writes of one have a transaction each, later ones may not. */
export function openSqliteInUse(): Promise<SqliteUnderTest> {
  return openSqlite({ writesBefore: 50 })
}
