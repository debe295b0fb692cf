/**
 * The epoch tells one store from another. A file that was copied, or put back from a backup, is another store: positions
 * of the old one must not resume in it. It has another inode, and then gets an epoch of its own.
 */
import { createHash, randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import type { Database } from './database.ts'
import { inTransaction } from './transaction.ts'

export function readEpoch(database: Database): string {
  const values = database.prepare(`
    select (select value from meta where name = 'file'), (select value from meta where name = 'epoch')`)
  const file = identityOf(database.path)
  const [storedFile, storedEpoch] = values.get() as [string | null, string | null]
  if (storedFile === file && storedEpoch !== null) return storedEpoch
  if (database.readOnly) return storedEpoch === null ? newEpoch() : epochOfCopy(storedEpoch, file)
  database.prepareToWrite()
  return inTransaction(database, () => {
    // Read again under the lock: another process may have noticed first.
    const [originalFile, originalEpoch] = values.get() as [string | null, string | null]
    const isCopy = originalFile !== null && originalFile !== file
    // Damage may have taken the epoch away: then no reader resumes on a guess.
    const epoch = isCopy || originalEpoch === null ? newEpoch() : originalEpoch
    const put = database.prepare(
      'insert into meta (name, value) values (?, ?) on conflict do update set value = excluded.value',
    )
    put.run('file', file)
    put.run('epoch', epoch)
    return epoch
  })
}

/** The epoch of a copy that is opened for reading only: it cannot be stored, so it follows from the file. */
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
