/**
 * The PostgreSQL that the tests share: the one that `COLLOQUY_TEST_POSTGRES` names, or one of our own, started by the
 * first test that needs it and ended after the last (`test/support/global-setup.ts`).
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { inject } from 'vitest'
import { startPostgres } from './postgres-server.ts'

let schemas = 0
let databaseOfWorker: Promise<string> | undefined

/** A schema that no other test uses, in a database that the tests of one worker share. */
export async function freshSchema(): Promise<{ url: string; schema: string }> {
  databaseOfWorker ??= freshDatabase()
  const url = await databaseOfWorker
  const schema = `s${++schemas}`
  return { url: `${url}${url.includes('?') ? '&' : '?'}schema=${schema}`, schema }
}

/** The global setup drops it after the last test. */
async function freshDatabase(): Promise<string> {
  const server = await sharedServer()
  const name = `${inject('databasePrefix')}_${process.pid}`
  await asAdministrator(
    server,
    `create database ${name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'`,
  )
  const url = new URL(server.replace('@/', '@localhost/'))
  url.pathname = name
  return server.includes('@/') ? url.href.replace('@localhost/', '@/') : url.href
}

async function asAdministrator(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

async function sharedServer(): Promise<string> {
  if (process.env.COLLOQUY_TEST_POSTGRES) return process.env.COLLOQUY_TEST_POSTGRES
  const folder = inject('postgresFolder')
  const file = join(folder, 'server.json')
  if (isFirst(folder)) {
    // The tests prove durability against the death of processes, not of disks.
    const server = await startPostgres({ fsync: 'off', full_page_writes: 'off' }).catch(error => {
      writeWhole(file, { failed: String(error) })
      throw error
    })
    writeWhole(file, { url: server.urlOf('postgres'), pid: server.pid, folder: server.socketFolder })
  }
  const deadline = performance.now() + 60_000
  for (;;) {
    const { url, failed } = readStarted(file) ?? {}
    if (url !== undefined) return url
    if (failed !== undefined || performance.now() > deadline) throw new Error(failed ?? 'PostgreSQL did not start')
    await wait(50)
  }
}

interface Started {
  url?: string
  pid?: number
  folder?: string
  failed?: string
}

function readStarted(file: string): Started | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Started
  } catch {
    return undefined
  }
}

function writeWhole(file: string, started: Started): void {
  writeFileSync(`${file}.new`, JSON.stringify(started))
  renameSync(`${file}.new`, file)
}

/** The first worker that needs the server starts it. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(join(folder, 'first'))
    return true
  } catch {
    return false
  }
}
