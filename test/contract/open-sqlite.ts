/** SQLite stores on temporary files. */
import { join } from 'node:path'
import { sqliteStore } from 'colloquy/sqlite'
import { type StoreUnderTest, storeUnderTest } from 'colloquy/testing'
import { temporaryFolder } from '../support/temporary.ts'

export interface SqliteUnderTest extends StoreUnderTest {
  path: string
}

export async function openSqlite(): Promise<SqliteUnderTest> {
  const path = join(temporaryFolder(), 'colloquy.db')
  const underTest = await storeUnderTest(clock => sqliteStore(path, { clock }))
  return Object.defineProperty(underTest, 'path', { value: path }) as SqliteUnderTest
}
