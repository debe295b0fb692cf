/** A fresh PostgreSQL store: a schema of its own in a database that the tests of one file share. */

import { type PostgresOptions, postgresStore } from 'colloquy/postgres'
import type { Store } from 'colloquy/stores'
import { onTestFinished } from 'vitest'
import { freshSchema } from '../support/postgres.ts'
import { type StoreUnderTest, settableClock } from './store-under-test.ts'

export interface PostgresUnderTest extends StoreUnderTest {
  url: string
  schema: string
}

export async function openPostgres(options: Partial<PostgresOptions> = {}): Promise<PostgresUnderTest> {
  const place = await freshSchema()
  const clock = settableClock()
  async function another(): Promise<Store> {
    const store = await postgresStore(place.url, { clock, connections: 6, ...options })
    onTestFinished(() => store.close())
    return store
  }
  let store = await another()
  return {
    get store() {
      return store
    },
    clock,
    ...place,
    another,
    async reopen() {
      await store.close()
      store = await another()
      return store
    },
  }
}
