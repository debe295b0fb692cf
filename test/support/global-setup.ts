/** Before all tests: names what they share. After them: ends the PostgreSQL that a test started, or drops its databases. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder in which the workers agree on one PostgreSQL. */
    postgresFolder: string
    /** Begins the name of each database of this run. */
    databasePrefix: string
  }
}

export default function setUp(project: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
  const databasePrefix = `colloquy_test_${process.pid}_${Date.now().toString(36)}`
  project.provide('postgresFolder', folder)
  project.provide('databasePrefix', databasePrefix)
  return async () => {
    const { pid, folder: serverFolder } = readServer(join(folder, 'server.json'))
    if (pid !== undefined) await end(pid)
    for (const path of [folder, serverFolder]) if (path) rmSync(path, { recursive: true, force: true })
    if (process.env.COLLOQUY_TEST_POSTGRES) await dropDatabases(process.env.COLLOQUY_TEST_POSTGRES, databasePrefix)
  }
}

function readServer(file: string): { pid?: number; folder?: string } {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}

/** SIGQUIT ends the server at once; its data is thrown away anyway. */
async function end(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGQUIT')
    for (let tries = 0; tries < 500; tries++) {
      process.kill(pid, 0)
      await wait(10)
    }
  } catch {
    // It is gone.
  }
}

async function dropDatabases(connectionString: string, prefix: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query('select datname from pg_database where starts_with(datname, $1)', [prefix])
  for (const { datname } of rows) await client.query(`drop database "${datname}" with (force)`)
  await client.end()
}
