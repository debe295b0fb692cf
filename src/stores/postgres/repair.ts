/**
 * Folds every head anew from the log and writes those that differ; empties what the full-text index and the landmarks
 * have, to be fed again. The log itself is only read.
 *
 * Most of a conversation is folded without a lock; what came meanwhile is folded under it, and then the heads are compared
 * and written.
 */
import { isDeepStrictEqual } from 'node:util'
import { type HeadFold, headFold, parsedOr } from '../../log/fold.ts'
import type { Progress, RepairedHead } from '../../log/upkeep.ts'
import type { ConversationInfo } from '../../log/views/conversation.ts'
import { teamDueAt } from '../../log/views/conversation-state.ts'
import { changedAtMs, expiryOf, type SessionHead, sessionKey } from '../../log/views/session.ts'
import { lockKeyOf, standing } from './append.ts'
import type { Database, Run } from './database.ts'
import { hashed, workHash } from './heads.ts'
import { blobsOf, type EventRow, eventColumns, recordedEvent } from './rows.ts'
import { titleGrams } from './search-index.ts'
import { isMeant } from './verify.ts'

interface Place {
  number: number
  conversation: number
  project: string
  conversationId: string
}

interface Folding {
  fold: HeadFold
  version: number
  /** The hash of the newest event, and when the conversation was last used. */
  newest: { hash: Uint8Array; lastUse: number } | undefined
  /** The log itself is damaged: it says less than it once did. */
  isDamaged: boolean
}

const sliceSize = 500

export function repairer(database: Database, epoch: string) {
  const sql = {
    count: `select coalesce(sum(z.version - coalesce(c.branch_version, 0)), 0)::bigint
      from conversations c join projects p using (project) join ends z using (project, conversation) where ${isMeant}`,
    places: `select c.project, c.conversation, p.id, c.id, coalesce(c.branch_version, 0)
      from conversations c join projects p using (project) where ${isMeant} order by c.project, c.conversation`,
    events: `select ${eventColumns} from events e
      where e.project = $1 and e.conversation = $2 and e.version > $3 order by e.version limit ${sliceSize}`,
    head: `select info, status, coalesce(version, 0), coalesce(hash, ''), coalesce(active_at, 0)
      from conversations left join ends using (project, conversation) where project = $1 and conversation = $2`,
    saveInfo: `update conversations
      set status = $3, work_type = $4, info = $5, due_at = $6, title_grams = $7, work_state = $9, work_priority = $10,
        work_feature = $11,
        -- Another conversation may have come to be about the same; then that one keeps the key.
        work_key = case when exists (
          select 1 from conversations o where o.project = $1 and o.work_key = $8 and o.conversation <> $2)
          then work_key else $8 end
      where project = $1 and conversation = $2`,
    saveEnd: `insert into ends (project, conversation, version, hash, active_at) values ($1, $2, $3, $4, $5)
      on conflict (project, conversation) do update
      set version = excluded.version, hash = excluded.hash, active_at = excluded.active_at`,
    sessions: 'select session, id, status, head from sessions where project = $1 and conversation = $2',
    // One active session of a key: of two the older gives way, as in the log.
    saveSession: `update sessions
      set session_key = $3, agent = $4, status = $5, expires_at = $6, compactions = $7, head = $8
      where project = $1 and session = $2 and ($5 <> 'active' or not exists (
        select 1 from sessions o where o.project = $1 and o.session_key = $3 and o.status = 'active' and o.session <> $2))`,
    addSession: `insert into sessions (project, conversation, id, session_key, agent, status, expires_at, compactions, head)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing`,
    dropSession: 'delete from sessions where project = $1 and session = $2',
    emptied: ['docs', 'landmarks', 'search_progress'].map(
      table => `delete from ${table} where project in (select p.project from projects p where ${isMeant})`,
    ),
    projects: `select p.project from projects p where ${isMeant}`,
  }

  /** The heads that were written, and the projects whose index is to be fed again. */
  return async ({ project, onProgress }: { project?: string; onProgress?: Progress }) => {
    const wanted = [project ?? null]
    const [total] = (await database.read<[number]>(sql.count, wanted))[0]!
    const heads: RepairedHead[] = []
    let done = 0
    for (const found of await database.read<[number, number, string, string, number]>(sql.places, wanted)) {
      const [number, conversation, projectId, conversationId, version] = found
      const place = { number, conversation, project: projectId, conversationId }
      const folding: Folding = { fold: headFold(place), version, newest: undefined, isDamaged: false }
      for (let taken = sliceSize; taken === sliceSize; ) {
        taken = await takeSlice(database.read, place, folding)
        done += taken
        onProgress?.(done, total)
      }
      const written = await database.transaction(async run => {
        await run('select pg_advisory_xact_lock($1)', [lockKeyOf(epoch, projectId, conversationId)])
        while ((await takeSlice(run, place, folding)) === sliceSize);
        return writeHeads(run, place, folding)
      })
      heads.push(...written)
    }
    for (const statement of sql.emptied) await database.read(statement, wanted)
    const projects = await database.read<[number]>(sql.projects, wanted)
    return { heads, projects: projects.map(([number]) => number) }
  }

  async function takeSlice(run: Run, place: Place, folding: Folding): Promise<number> {
    const rows = await run<EventRow>(sql.events, [place.number, place.conversation, folding.version])
    const load = await blobsOf(
      run,
      place.number,
      rows.map(row => row[11]),
    )
    for (const row of rows) {
      const recorded = recordedEvent(row, { ...place, epoch: '' }, load)
      if (recorded.event.type === 'damaged' || recorded.version !== folding.version + 1) folding.isDamaged = true
      folding.fold.take(recorded)
      folding.version = recorded.version
      folding.newest = { hash: row[12], lastUse: Date.parse(folding.fold.conversation?.activeAt ?? recorded.at) }
    }
    return rows.length
  }

  async function writeHeads(run: Run, place: Place, folding: Folding): Promise<RepairedHead[]> {
    const [head] = await run<[string, string, number, Uint8Array, number]>(sql.head, [place.number, place.conversation])
    // Purged since the list was made.
    if (!head) return []
    // A head that knows of more than there is: the end of the log is missing.
    if (head[2] > folding.version) folding.isDamaged = true
    const { info, sessions, isNamed } = folding.fold.heads()
    // A log that does not say what it is about gives no better head than a damaged one.
    const repaired = isNamed ? await writeInfo(run, place, { info, isDamaged: folding.isDamaged, stored: head }) : []
    repaired.push(...(await writeEnd(run, place, folding, head)))
    return [...repaired, ...(await writeSessions(run, place, sessions, folding.isDamaged))]
  }

  async function writeInfo(
    run: Run,
    { number, conversation, project, conversationId }: Place,
    {
      info,
      isDamaged,
      stored,
    }: { info: ConversationInfo; isDamaged: boolean; stored: readonly [string, string, ...unknown[]] },
  ): Promise<RepairedHead[]> {
    const what = differs(stored[0], info, isDamaged)
    if (what === undefined && (isDamaged || stored[1] === info.status)) return []
    await run(sql.saveInfo, [
      number,
      conversation,
      info.status,
      info.workItem.type,
      JSON.stringify(info),
      teamDueAt(info) ?? null,
      titleGrams(number, info.title),
      workHash(info.workItem),
      info.work ? standing(info.work).state : null,
      info.work ? standing(info.work).priority : null,
      info.workItem.type === 'task' ? info.workItem.featureId : null,
    ])
    return [{ project, conversationId, what: what ?? 'its status was another than its log says' }]
  }

  /** What the head says of the newest event. */
  async function writeEnd(
    run: Run,
    { number, conversation, project, conversationId }: Place,
    { version, newest }: Folding,
    [, , storedVersion, hash, at]: readonly [string, string, number, Uint8Array, number],
  ): Promise<RepairedHead[]> {
    if (!newest || storedVersion > version) return []
    if (storedVersion === version && at === newest.lastUse && Buffer.compare(hash, newest.hash) === 0) return []
    await run(sql.saveEnd, [number, conversation, version, newest.hash, newest.lastUse])
    return [{ project, conversationId, what: 'it named another event as the newest' }]
  }

  async function writeSessions(
    run: Run,
    { number, conversation, project, conversationId }: Place,
    folded: ReadonlyMap<string, SessionHead>,
    isDamaged: boolean,
  ): Promise<RepairedHead[]> {
    const repaired: RepairedHead[] = []
    const report = (sessionId: string, what: string) => repaired.push({ project, conversationId, sessionId, what })
    const stored = await run<[number, string, string, string]>(sql.sessions, [number, conversation])
    const known = new Set(stored.map(([, id]) => id))
    for (const [session, id, status, text] of stored) {
      const head = folded.get(id)
      if (!head) {
        if (isDamaged) continue
        await run(sql.dropSession, [number, session])
        report(id, 'the log knows no such session')
        continue
      }
      const what = differs(text, head, isDamaged) ?? (status === head.status ? undefined : 'its status was another')
      if (what === undefined) continue
      await run(sql.saveSession, [number, session, ...columnsOf(head)])
      report(id, what)
    }
    for (const [id, head] of folded) {
      if (known.has(id)) continue
      await run(sql.addSession, [number, conversation, id, ...columnsOf(head)])
      report(id, 'it was missing')
    }
    return repaired
  }
}

/** What is wrong with a stored head, if anything; beside a damaged log, only that it cannot be read. */
function differs(text: string, folded: object, isDamaged: boolean): string | undefined {
  const stored = parsedOr<object | undefined>(text, () => undefined)
  if (stored === undefined) return 'it could not be read'
  if (isDamaged || isDeepStrictEqual(stored, JSON.parse(JSON.stringify(folded)))) return undefined
  return 'it differed from what its log says'
}

function columnsOf(head: SessionHead): [string, string, string, number | null, number, string] {
  const expiresAt = expiryOf(head, changedAtMs(head)) ?? null
  return [hashed(sessionKey(head)), head.agentName, head.status, expiresAt, head.compactions, JSON.stringify(head)]
}
