/**
 * Which store this is. A file that was copied, or put back from a backup, is another store: positions handed out by
 * the old one must not resume in it. A new inode gives it away, and it then gets an epoch of its own.
 */
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import type { Database } from './database.ts'

export function readEpoch(database: Database): string {
  const [epoch] = database.prepare(`select value from meta where name = 'epoch'`).get() as [string]
  const known = database.prepare(`select value from meta where name = 'file'`).get() as [string] | undefined
  const file = identityOf(database.path)
  if (known?.[0] === file) return epoch
  const next = known ? randomBytes(9).toString('base64url') : epoch
  if (database.readOnly) return next
  database.exec('begin immediate')
  const put = database.prepare(
    'insert into meta (name, value) values (?, ?) on conflict do update set value = excluded.value',
  )
  put.run('file', file)
  put.run('epoch', next)
  database.exec('commit')
  return next
}

function identityOf(path: string): string {
  const { ino, birthtimeMs } = statSync(path)
  return `${ino} ${Math.trunc(birthtimeMs)}`
}
