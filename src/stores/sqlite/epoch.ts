/**
 * Which store this is. A file that was copied, or put back from a backup, is another store: positions handed out by
 * the old one must not resume in it. A new inode gives it away, and it then gets an epoch of its own.
 */
import { createHash, randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import type { Database } from './database.ts'
import { inTransaction } from './transaction.ts'

export function readEpoch(database: Database): string {
  const values = database.prepare(`
    select (select value from meta where name = 'file'), (select value from meta where name = 'epoch')`)
  const file = identityOf(database.path)
  const [knownFile, knownEpoch] = values.get() as [string | null, string | null]
  if (knownFile === file && knownEpoch !== null) return knownEpoch
  if (database.readOnly) return knownEpoch === null ? newEpoch() : epochOfCopy(knownEpoch, file)
  database.prepareToWrite()
  return inTransaction(database, () => {
    // Read again under the lock: another process may have noticed first.
    const [known, old] = values.get() as [string | null, string | null]
    const isCopy = known !== null && known !== file
    // Damage can take away what it says of itself: then nobody goes on in it on a guess either.
    const epoch = isCopy || old === null ? newEpoch() : old
    const put = database.prepare(
      'insert into meta (name, value) values (?, ?) on conflict do update set value = excluded.value',
    )
    put.run('file', file)
    put.run('epoch', epoch)
    return epoch
  })
}

/** Who may only read cannot note a new one, and yet goes on tomorrow where it stopped today. */
function epochOfCopy(epoch: string, file: string): string {
  return createHash('sha256').update(`${epoch} ${file}`).digest('base64url').slice(0, 12)
}

export function newEpoch(): string {
  return randomBytes(9).toString('base64url')
}

function identityOf(path: string): string {
  const { ino, birthtimeMs } = statSync(path)
  return `${ino} ${Math.trunc(birthtimeMs)}`
}
