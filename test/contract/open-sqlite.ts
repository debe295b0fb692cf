/** A fresh SQLite store on a temporary file. */
import { join } from 'node:path'
import type { Store } from 'colloquy'
import { sqliteStore } from 'colloquy/sqlite'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'
import { type StoreUnderTest, settableClock } from './store-under-test.ts'

export interface SqliteUnderTest extends StoreUnderTest {
  path: string
}

export async function openSqlite(): Promise<SqliteUnderTest> {
  const path = join(temporaryFolder(), 'colloquy.db')
  const clock = settableClock()
  async function another(): Promise<Store> {
    const store = await sqliteStore(path, { clock })
    onTestFinished(() => store.close())
    return store
  }
  let store = await another()
  return {
    get store() {
      return store
    },
    clock,
    path,
    another,
    async reopen() {
      await store.close()
      store = await another()
      return store
    },
  }
}
