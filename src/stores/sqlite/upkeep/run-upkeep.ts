/** Runs the operations of upkeep in the worker, and makes the search index follow what they remove. */
import { type UpkeepOperations, upkeepOver } from '../../../log/upkeep/upkeep-over.ts'
import type { EraseInput, PurgeInput, RunUpkeep, UpkeepInput, UpkeepResult } from '../../../log/upkeep-work.ts'
import type { Database } from '../database.ts'
import type { SearchIndex } from '../search/search-index.ts'
import { repairIndexes } from './repair-indexes.ts'
import type { RowConnections } from './row-store.ts'

export interface WorkerUpkeepInput {
  rows: RowConnections
  log: () => Database
  index: () => SearchIndex
  /** Works on an index that is up to date. */
  indexed<T>(work: () => T | Promise<T>): Promise<T>
  landmark(input: UpkeepInput<'landmark'>): Promise<UpkeepResult<'landmark'>>
}

export function runUpkeep({ rows, log, index, indexed, landmark }: WorkerUpkeepInput): RunUpkeep {
  const run = upkeepOver(rows)

  /** The index keeps no text: it is handed the words before they leave the log. */
  async function erase(input: EraseInput): Promise<UpkeepResult<'erase'>> {
    const position = positionOf(log(), input)
    if (position === undefined) return run('erase', input)
    await indexed(() => index().expectErase(position))
    try {
      return await run('erase', input)
    } catch (error) {
      index().callOffErase(position)
      throw error
    }
  }

  async function purge(input: PurgeInput): Promise<UpkeepResult<'purge'>> {
    let purged: UpkeepResult<'purge'> | undefined
    const remove = async () => {
      purged ??= await run('purge', input)
      return { purge: purgeOf(log(), input) }
    }
    try {
      const conversation = conversationOf(log(), input)
      if (conversation === undefined) return await run('purge', input)
      await indexed(() => index().forgetConversation(conversation, remove))
    } catch (error) {
      // The log has lost it already. The index follows when it is next fed.
      if (!purged) throw error
    }
    return purged!
  }

  const own: Partial<UpkeepOperations> = {
    erase,
    purge,
    repair(input, onProgress) {
      repairIndexes(log())
      return run('repair', input, onProgress)
    },
    landmark,
    spending: ({ project }) => indexed(() => index().spending.ofProject(project)),
    spendingOf: ({ project, conversationIds }) =>
      indexed(() => index().spending.ofConversations(project, conversationIds)),
  }
  return upkeepOver(rows, own)
}

function conversationOf(database: Database, { project, conversationId }: PurgeInput): number | undefined {
  const find = database.prepare(`
    select conversation from conversations where project = (select project from projects where id = ?) and id = ?`)
  return (find.get(project, conversationId) as [number] | undefined)?.[0]
}

function positionOf(database: Database, { project, conversationId, message }: EraseInput): number | undefined {
  const find = database.prepare(`
    select position from events where version = ?3 and conversation = (
      select conversation from conversations where project = (select project from projects where id = ?1) and id = ?2)`)
  return (find.get(project, conversationId, message.version) as [number] | undefined)?.[0]
}

/** The number of the newest purge of a conversation. */
function purgeOf(database: Database, { project, conversationId }: PurgeInput): number {
  const find = database.prepare(`
    select max(purge) from purges where project = (select project from projects where id = ?) and conversation_id = ?`)
  return (find.get(project, conversationId) as [number])[0]
}
