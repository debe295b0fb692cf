/** SQLite stores on temporary files: a fresh one, and one in use. */
import { join } from 'node:path'
import { sqliteStore } from 'colloquy/sqlite'
import type { Store } from 'colloquy/stores'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'
import { type StoreUnderTest, settableClock } from './store-under-test.ts'

export interface SqliteUnderTest extends StoreUnderTest {
  path: string
}

export function openSqlite(): Promise<SqliteUnderTest> {
  return sqliteUnderTest(async () => undefined)
}

/** The first writes of a store have a transaction each; what comes after them may be a single statement. */
const transactionsFirst = 50

/** One that has been written to for a while, as any is that a program keeps open. */
export function openSqliteInUse(): Promise<SqliteUnderTest> {
  return sqliteUnderTest(async store => {
    for (let done = 0; done < transactionsFirst; done++) await store.forgetNode('nobody')
  })
}

async function sqliteUnderTest(use: (store: Store) => Promise<void>): Promise<SqliteUnderTest> {
  const path = join(temporaryFolder(), 'colloquy.db')
  const clock = settableClock()
  async function another(): Promise<Store> {
    const store = await sqliteStore(path, { clock })
    onTestFinished(() => store.close())
    await use(store)
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
