/** The file as a store that is copied from or into. */
import { resolve } from 'node:path'
import { type CopyableStore, type CopyableTarget, type CopyTarget, copiedName } from '../../../log/upkeep/copy.ts'
import { type Database, openDatabase } from '../database.ts'
import { newEpoch } from '../epoch.ts'
import { asStoreError } from '../errors.ts'
import { makeSchema, refuseOtherSchema } from '../open-schema.ts'
import { copyTarget, discardCopy } from './copy-in.ts'
import { copySource } from './copy-out.ts'

const busyTimeoutMs = 10_000

/** Opens a file to copy from; nothing is written to it. */
export async function sqliteCopySource(path: string): Promise<CopyableStore> {
  const database = open(resolve(path), { readOnly: true })
  return copyable(database)
}

/** Opens or makes a file to copy into. */
export async function sqliteCopyTarget(path: string): Promise<CopyableTarget> {
  const database = open(resolve(path), { readOnly: false })
  const guarded = async <T>(work: () => T | Promise<T>) => {
    try {
      return await work()
    } catch (error) {
      throw asStoreError(error, database.path)
    }
  }
  /** Else what goes wrong here would be told of the store that is copied from. */
  const telling = (target: CopyTarget): CopyTarget => ({
    ...target,
    putConversations: conversations => guarded(() => target.putConversations(conversations)),
    putEvents: events => guarded(() => target.putEvents(events)),
    putSessions: sessions => guarded(() => target.putSessions(sessions)),
    putKeys: keys => guarded(() => target.putKeys(keys)),
    publish: () => guarded(() => target.publish()),
  })
  return {
    ...copyable(database),
    begin: (project, from) => guarded(() => telling(copyTarget(database, project, from, Date.now))),
    unfinished: () => guarded(() => allNames(database).flatMap(name => copiedName(name) || [])),
    discard: project => guarded(() => discardCopy(database, project)),
  }
}

function open(path: string, { readOnly }: { readOnly: boolean }): Database {
  const database = openDatabase({ path, durability: 'full', readOnly, busyTimeoutMs, inspect: refuseOtherSchema })
  try {
    if (!readOnly) {
      makeSchema(database)
      database.prepareToWrite()
    }
    return database
  } catch (error) {
    database.close()
    throw asStoreError(error, path)
  }
}

function copyable(database: Database): CopyableStore {
  const found = database.prepare(`select value from meta where name = 'epoch'`).get() as [string] | undefined
  // Damage may have taken it away; then nothing is gone on with.
  const [epoch] = found ?? [newEpoch()]
  return {
    name: database.path,
    epoch,
    projects: async () => allNames(database).filter(name => copiedName(name) === undefined),
    async snapshot(project, work) {
      database.exec('begin')
      try {
        return await work(copySource(database, project, project))
      } catch (error) {
        throw asStoreError(error, database.path)
      } finally {
        database.rollback()
      }
    },
    async close() {
      try {
        if (!database.readOnly) database.exec('pragma wal_checkpoint(truncate)')
      } catch {
        // What was copied stands in the write-ahead log then; and what went wrong before is what should be told.
      } finally {
        database.close()
      }
    },
  }
}

function allNames(database: Database): string[] {
  return (database.prepare('select id from projects order by id').all() as Array<[string]>).map(([id]) => id)
}
