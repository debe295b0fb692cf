/** Builds the indexes over the tables again where they do not say what the tables say. */
import type { Database } from '../database.ts'
import { isUnwritable } from '../errors.ts'

export function repairIndexes(database: Database): void {
  const findings = database.prepare('pragma integrity_check(1)').all() as Array<[string]>
  if (findings.every(([finding]) => finding === 'ok')) return
  try {
    database.exec('reindex')
  } catch (error) {
    if (isUnwritable(error)) throw error
    // Damage to the tables themselves. `verify` names it, and the heads are repaired all the same.
  }
}
