/** Maps the name of each operation of upkeep to its code, over a store's rows. */
import type { PurgeRow, RowStore } from '../rows.ts'
import type { Progress } from '../upkeep.ts'
import type { RunUpkeep, UpkeepInput, UpkeepOperation, UpkeepResult } from '../upkeep-work.ts'
import { audit } from './audit.ts'
import { erase, rewrite } from './erase.ts'
import { exportPage } from './export.ts'
import { purge, purges, refuseWithBranches } from './purge.ts'
import { repair } from './repair.ts'
import { restorer } from './restore.ts'
import { archivable, noteUse } from './retention.ts'
import { totals } from './totals.ts'
import { verify } from './verify.ts'

export type UpkeepOperations = {
  [O in UpkeepOperation]: (input: UpkeepInput<O>, onProgress: Progress | undefined) => Promise<UpkeepResult<O>>
}

/** Runs every operation over a store's rows, but for those that the store does in its own way. */
export function upkeepOver(store: RowStore, own: Partial<UpkeepOperations> = {}): RunUpkeep {
  const restoring = restorer(store)
  const operations: UpkeepOperations = {
    verify: ({ project }, onProgress) => verify(store, { project, onProgress }),
    repair: ({ project }, onProgress) => repair(store, { project, onProgress }),
    erase: input => erase(store, input),
    rewrite: input => rewrite(store, input),
    exportPage: input => exportPage(store, input),
    refuseWithBranches: place => store.rows(rows => refuseWithBranches(rows, place)).then(() => undefined),
    purge: input => purge(store, input),
    purges: ({ project }) => purges(store, project),
    restorePage: page => restoring.page(page),
    abandonRestore: async ({ ticket }) => restoring.abandon(ticket),
    audit: query => audit(store, query),
    totals: ({ project }) => totals(store, project),
    archivable: query => archivable(store, query),
    noteUse: use => noteUse(store, use).then(() => undefined),
    finishRemoval: async () => undefined,
    landmark: async () => undefined,
    spending: async () => undefined,
    spendingOf: async () => undefined,
    conversationEnds: async ({ project }) => {
      const conversations = await store.rows(rows => rows.conversations(project))
      return conversations.map(({ hash, ...end }) => ({ ...end, hash: Buffer.from(hash).toString('base64') }))
    },
    projects: () => store.rows(rows => rows.projects()),
    readKeys: page => store.rows(rows => rows.keys(page)),
    addKeys: ({ project, keys }) =>
      store.change({ project, conversationId: '' }, rows => rows.addKeys(project, keys)).then(() => undefined),
    readPurges: ({ project }) => store.rows(rows => rows.purges(project)),
    addPurges: ({ project, purges: records }) =>
      store
        .change({ project, conversationId: '' }, async rows => {
          const stored = new Set((await rows.purges(project)).map(purgeKey))
          await rows.copyPurges(
            project,
            records.filter(record => !stored.has(purgeKey(record))),
          )
        })
        .then(() => undefined),
    ...own,
  }
  return (operation, input, onProgress) => operations[operation](input, onProgress)
}

function purgeKey({ conversationId, archive, at }: PurgeRow): string {
  return JSON.stringify([conversationId, archive, at])
}
