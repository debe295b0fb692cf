/** The database as a store that is copied from or into. */
import { type CopyableStore, type CopyableTarget, copiedName } from '../../log/upkeep/copy.ts'
import { copyTarget, discardCopy } from './copy-in.ts'
import { copySource } from './copy-out.ts'
import { type Database, openDatabase } from './database.ts'
import type { Epoch } from './epoch.ts'
import { asStoreError } from './errors.ts'
import { migrate } from './migrate.ts'
import { placeOf } from './place.ts'

/** A copy is in no hurry: a server that restarts is waited for. */
const busyTimeoutMs = 60_000

/** Opens a database to copy from; nothing is written to it. */
export async function postgresCopySource(url: string): Promise<CopyableStore> {
  const { database, epoch } = await open(url, { readOnly: true })
  return copyable(database, epoch)
}

/** Opens a database to copy into; its schema is made when it is missing. */
export async function postgresCopyTarget(url: string): Promise<CopyableTarget> {
  const { database, epoch, base } = await open(url, { readOnly: false })
  return {
    ...copyable(database, epoch),
    begin: (project, from) => copyTarget(database, { project, from, base }),
    unfinished: async () => (await allNames(database)).flatMap(name => copiedName(name) || []),
    discard: project => discardCopy(database, project),
  }
}

async function open(url: string, { readOnly }: { readOnly: boolean }): Promise<Epoch & { database: Database }> {
  const database = openDatabase({ place: placeOf(url), durability: 'full', readOnly, busyTimeoutMs, connections: 3 })
  try {
    return { database, ...(await migrate(database, { readOnly })) }
  } catch (error) {
    await database.close()
    throw asStoreError(error, database.place.name)
  }
}

function copyable(database: Database, epoch: string): CopyableStore {
  return {
    name: database.place.name,
    epoch,
    projects: async () => (await allNames(database)).filter(name => copiedName(name) === undefined),
    snapshot: (project, work) =>
      database.transaction(
        async run => {
          // The other store may take its time between two pages.
          await run('set local idle_in_transaction_session_timeout = 0')
          return work(await copySource(run, project, project))
        },
        { readOnly: true },
      ),
    close: () => database.close(),
  }
}

async function allNames(database: Database): Promise<string[]> {
  return (await database.read<[string]>('select id from projects order by id')).map(([id]) => id)
}
