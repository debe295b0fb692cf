/**
 * Which store this is. A file that was copied, or put back from a backup, is another store: positions handed out by
 * the old one must not resume in it. A new inode gives it away, and it then gets an epoch of its own.
 */
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import type { Database } from './database.ts'
import { inTransaction } from './transaction.ts'

export function readEpoch(database: Database): string {
  const value = database.prepare('select value from meta where name = ?')
  const read = (name: string) => (value.get(name) as [string] | undefined)?.[0]
  const file = identityOf(database.path)
  if (read('file') === file) return read('epoch')!
  if (database.readOnly) return newEpoch()
  return inTransaction(database, () => {
    // Read again under the lock: another process may have noticed first.
    const known = read('file')
    const epoch = known === undefined || known === file ? read('epoch')! : newEpoch()
    const put = database.prepare(
      'insert into meta (name, value) values (?, ?) on conflict do update set value = excluded.value',
    )
    put.run('file', file)
    put.run('epoch', epoch)
    return epoch
  })
}

export function newEpoch(): string {
  return randomBytes(9).toString('base64url')
}

function identityOf(path: string): string {
  const { ino, birthtimeMs } = statSync(path)
  return `${ino} ${Math.trunc(birthtimeMs)}`
}
