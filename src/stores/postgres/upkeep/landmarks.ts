/**
 * Heads as they stood every so many versions of a long conversation, so that an earlier state is folded from the nearest
 * of them and not from the beginning. Derived, and made behind the commits with the full-text index.
 */

import type { Landmark } from '../../../log/directory.ts'
import { idProblem } from '../../../log/events/id.ts'
import { headFold, parsedOr } from '../../../log/fold.ts'
import type { Database } from '../database.ts'
import { isConstraint } from '../errors.ts'
import type { Projects } from '../projects.ts'
import { type EventRow, eventColumns, recordedEvent } from '../rows.ts'

/** A past state is at most this many versions away from one that is kept. */
export const landmarkEvery = 256
/** Heads of very many sessions are kept less often, or they would take more room than the log. */
const large = { characters: 256 * 1024, every: 32 * landmarkEvery }

export type Landmarks = ReturnType<typeof landmarkKeeper>

export function landmarkKeeper(database: Database) {
  const sql = {
    find: `select heads from landmarks where project = $1 and conversation = $2 and version <= $3
      order by version desc limit 1`,
    place: `select p.id, c.id from conversations c join projects p using (project)
      where c.project = $1 and c.conversation = $2`,
    facts: `select ${eventColumns} from events e
      where e.project = $1 and e.conversation = $2 and e.version > $3 and e.version <= $4 and e.lane is null
      order by e.version`,
    put: `insert into landmarks (project, conversation, version, heads) values ($1, $2, $3, $4) on conflict do nothing`,
  }

  async function find(project: number, conversation: number, version: number): Promise<Landmark | undefined> {
    const [found] = await database.read<[string]>(sql.find, [project, conversation, version])
    return found && parsedOr<Landmark | undefined>(found[0], () => undefined)
  }

  /** Keeps the heads of the last round version up to this one, unless they are kept already. */
  async function pass(project: number, conversation: number, upTo: number): Promise<void> {
    const version = upTo - (upTo % landmarkEvery)
    if (version === 0) return
    const before = await find(project, conversation, version)
    const from = before?.conversation.version ?? 0
    if (from === version) return
    const [place] = await database.read<[string, string]>(sql.place, [project, conversation])
    if (!place) return
    const [projectId, conversationId] = place
    const fold = headFold({ project: projectId, conversationId }, before)
    for (const row of await database.read<EventRow>(sql.facts, [project, conversation, from, version])) {
      fold.take(recordedEvent(row, { project: projectId, conversationId, epoch: '' }, () => undefined))
    }
    const { conversation: head } = fold
    if (!head) return
    const landmark: Landmark = { conversation: { ...head, version }, sessions: [...fold.heads().sessions.values()] }
    const text = JSON.stringify(landmark)
    if (text.length > large.characters && version % large.every !== 0) return
    try {
      await database.read(sql.put, [project, conversation, version, text])
    } catch (error) {
      // The conversation was purged on the way.
      if (!isConstraint((error as Error).cause)) throw error
    }
  }

  return { find, pass }
}

/** The nearest heads kept from before a version; made now, if the nearest are far away. */
export async function landmarkOf(
  { database, projects, readOnly }: { database: Database; projects: Projects; readOnly: boolean },
  { project, id, version }: { project: string; id: string; version: number },
): Promise<Landmark | undefined> {
  const number = await projects.find(project)
  if (number === undefined || idProblem(id)) return undefined
  const [row] = await database.read<[number]>('select conversation from conversations where project = $1 and id = $2', [
    number,
    id,
  ])
  if (!row) return undefined
  const landmarks = landmarkKeeper(database)
  const kept = await landmarks.find(number, row[0], version)
  if (readOnly || version - (kept?.conversation.version ?? 0) < 2 * landmarkEvery) return kept
  await landmarks.pass(number, row[0], version)
  return landmarks.find(number, row[0], version)
}
