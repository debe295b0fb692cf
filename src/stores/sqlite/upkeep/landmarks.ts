/**
 * Heads as they stood every so many versions of a long conversation, so that an earlier state is folded from the nearest
 * of them and not from the beginning. They stand in the index's file: derived, and gone with it.
 */
import type { Landmark } from '../../../log/directory.ts'
import { headFold, parsedOr } from '../../../log/fold.ts'
import type { Database } from '../database.ts'
import { blobLoader, type EventRow, eventColumns, recordedEvent } from '../rows.ts'

export const landmarkSchema = `
create table landmarks (
  conversation integer not null,
  version integer not null,
  heads text not null,
  primary key (conversation, version)
) without rowid;
`

/** A past state is at most this many versions away from one that is kept. */
export const landmarkEvery = 256
/** Heads of very many sessions are kept less often, or they would take more room than the log. */
const large = { characters: 256 * 1024, every: 32 * landmarkEvery }

export interface Landmarks {
  /** To be told of every event in order; it looks at few of them. */
  pass(conversation: number, version: number): void
  find(conversation: number, version: number): Landmark | undefined
  forget(conversation: number): void
}

/** Over the index's connection, with the log attached as `log`. */
export function landmarkKeeper(database: Database): Landmarks {
  const sql = {
    find: database.prepare(`
      select heads from landmarks where conversation = ? and version <= ? order by version desc limit 1`),
    put: database.prepare('insert or replace into landmarks (conversation, version, heads) values (?, ?, ?)'),
    forget: database.prepare('delete from landmarks where conversation = ?'),
    place: database.prepare(`
      select p.project, p.id, c.id from log.conversations c join log.projects p using (project)
      where c.conversation = ?`),
    facts: database.prepare(`
      select ${eventColumns} from log.events e
      where e.conversation = ? and e.version > ? and e.version <= ? and e.lane is null order by e.version`),
  }
  const blobs = blobLoader(database)

  function find(conversation: number, version: number): Landmark | undefined {
    const found = sql.find.get(conversation, version) as [string] | undefined
    return found && parsedOr<Landmark | undefined>(found[0], () => undefined)
  }

  return {
    pass(conversation, version) {
      if (version % landmarkEvery !== 0) return
      const found = sql.place.get(conversation) as [number, string, string] | undefined
      if (!found) return
      const [projectRow, project, conversationId] = found
      const before = find(conversation, version)
      const fold = headFold({ project, conversationId }, before)
      const rows = sql.facts.all(conversation, before?.conversation.version ?? 0, version) as EventRow[]
      for (const row of rows) {
        fold.take(recordedEvent(row, { project, conversationId, epoch: '' }, blobs(projectRow)))
      }
      const { conversation: head } = fold
      if (!head) return
      const landmark: Landmark = { conversation: { ...head, version }, sessions: [...fold.heads().sessions.values()] }
      const text = JSON.stringify(landmark)
      if (text.length > large.characters && version % large.every !== 0) return
      sql.put.run(conversation, version, text)
    },
    find,
    forget: conversation => sql.forget.run(conversation),
  }
}
