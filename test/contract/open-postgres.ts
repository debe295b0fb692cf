/** A fresh PostgreSQL store: a schema of its own in a database that the tests of one file share. */
import { type PostgresOptions, postgresStore } from 'colloquy/postgres'
import { type StoreUnderTest, storeUnderTest } from 'colloquy/testing'
import { freshSchema } from '../support/postgres.ts'

export interface PostgresUnderTest extends StoreUnderTest {
  url: string
  schema: string
}

export async function openPostgres(options: Partial<PostgresOptions> = {}): Promise<PostgresUnderTest> {
  const place = await freshSchema()
  const underTest = await storeUnderTest(clock => postgresStore(place.url, { clock, connections: 6, ...options }))
  return Object.defineProperties(underTest, {
    url: { value: place.url },
    schema: { value: place.schema },
  }) as PostgresUnderTest
}
