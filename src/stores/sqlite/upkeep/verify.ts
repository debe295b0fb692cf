/**
 * Refolds everything and compares: versions without gaps, checksums, digests, the hash chain, running sums, blobs, heads
 * and sessions. Reports each damage by conversation and version, and changes nothing.
 */
import { setImmediate as breathe } from 'node:timers/promises'
import { isAudienceOf } from '../../../log/events/audience.ts'
import { workItemKey } from '../../../log/events/work-item.ts'
import { parsedOr } from '../../../log/fold.ts'
import type { LaneKind } from '../../../log/records/lane.ts'
import { type ArchiveRow, archiveColumns } from '../../../log/upkeep/archived-rows.ts'
import { conversationCheck } from '../../../log/upkeep/verify-conversation.ts'
import type { Damage, Progress, VerifyReport } from '../../../log/upkeep.ts'
import type { ConversationInfo } from '../../../log/views/conversation.ts'
import { type SessionHead, sessionKey } from '../../../log/views/session.ts'
import type { Database } from '../database.ts'
import { asStoreError } from '../errors.ts'
import { headStore } from '../heads.ts'
import { lastPosition } from '../position.ts'
import { inVersionOrder } from '../read/event-queries.ts'
import { blobLoader } from '../rows.ts'
import { isLaneless, isMeant } from './checked.ts'
import { changedTables } from './table-definitions.ts'

type VerifiedRow = [...ArchiveRow, crc: number]

type ConversationRow = [
  conversation: number,
  id: string,
  info: string,
  status: string,
  workKey: string,
  project: number,
  projectId: string,
  newest: number,
]

type SessionRow = [id: string, status: string, head: string, key: string, project: number]

const sliceSize = 500

export function verifier(database: Database) {
  const sql = {
    count: database.prepare(`
      select count(*) from events e join conversations c using (conversation) join projects p using (project)
      where ${isMeant}`),
    // Positions are handed out one by one: what is neither there nor purged was taken out by hand.
    missing: database.prepare(`
      select ${lastPosition()} - (select count(*) from events) - (select coalesce(sum(events), 0) from purges)`),
    floor: database.prepare(`select 1 from meta where name = 'position_floor'`),
    places: database.prepare(`
      select c.conversation, p.id, c.id from conversations c join projects p using (project)
      where ${isMeant} order by c.conversation`),
    conversation: database.prepare(`
      select c.conversation, c.id, c.info, c.status, c.work_key, p.project, p.id,
        coalesce((select max(version) from events where conversation = c.conversation), 0)
      from conversations c join projects p using (project) where c.conversation = ?`),
    events: database.prepare(inVersionOrder(`${archiveColumns}, e.crc`)),
    lanes: database.prepare('select lane, audience_key, kind, audience from lanes where conversation = ?'),
    sessions: database.prepare('select id, status, head, session_key, project from sessions where conversation = ?'),
    orphans: database.prepare(`
      select count(*) from events e where not exists (select 1 from conversations c where c.conversation = e.conversation)`),
    ofNoProject: database.prepare(`
      select count(*) from conversations c where not exists (select 1 from projects p where p.project = c.project)`),
    laneless: database.prepare(`
      select e.conversation, count(*) from events e where ${isLaneless} group by e.conversation`),
    // Indexes too: what they do not lead to is looked for in vain, though it is there.
    structure: database.prepare('pragma integrity_check(20)'),
  }
  const blobs = blobLoader(database)
  const heads = headStore(database)

  return async ({ project, onProgress }: { project?: string; onProgress: Progress }): Promise<VerifyReport> => {
    const damages: Damage[] = []
    const ofTheFile = (what: string) =>
      damages.push({ project: '', conversationId: '', what: `file structure: ${what}` })
    for (const table of changedTables(database)) ofTheFile(`the table ${table} is not defined as it was made`)
    // Whatever is read by such a description would be told as damage of what is whole.
    if (damages.length > 0) return { conversations: 0, events: 0, damages, clean: false }
    for (const [found] of sql.structure.all() as Array<[string]>) if (found !== 'ok') ofTheFile(found)
    const [total] = sql.count.get(project ?? null) as [number]
    const places = sql.places.all(project ?? null) as Array<[number, string, string]>
    let events = 0
    let gaps = 0
    for (const [conversation, projectId, conversationId] of places) {
      // One view of the conversation, whatever is appended meanwhile.
      database.exec('begin')
      try {
        const found = await verifyConversation(conversation, done => onProgress(events + done, total))
        events += found?.events ?? 0
        gaps += found?.gaps ?? 0
        damages.push(...(found?.damages ?? []))
      } catch (error) {
        const what = asStoreError(error, database.path).message
        damages.push({ project: projectId, conversationId, what: `cannot be read: ${what}` })
      } finally {
        database.rollback()
      }
      onProgress(events, total)
    }
    if (!sql.floor.get()) {
      damages.push({ project: '', conversationId: '', what: 'the file does not say any more how far its log went' })
    }
    const missing = (sql.missing.get() as [number])[0] - gaps
    if (missing > 0 && project === undefined) {
      damages.push({
        project: '',
        conversationId: '',
        what: `${missing} events were removed from the end of conversations`,
      })
    }
    damages.push(...lanelessIn(places, damages))
    const [orphans] = sql.orphans.get() as [number]
    if (orphans > 0)
      damages.push({ project: '', conversationId: '', what: `${orphans} events belong to no conversation` })
    const [ofNoProject] = sql.ofNoProject.get() as [number]
    if (ofNoProject > 0)
      damages.push({ project: '', conversationId: '', what: `${ofNoProject} conversations belong to no project` })
    return { conversations: places.length, events, damages, clean: damages.length === 0 }
  }

  /** Messages whose lane is not there. Left out where a conversation has other damages, which name them already. */
  function lanelessIn(checked: ReadonlyArray<[number, string, string]>, damages: readonly Damage[]): Damage[] {
    const counts = new Map(sql.laneless.all() as Array<[number, number]>)
    return checked.flatMap(([conversation, project, conversationId]) => {
      const count = counts.get(conversation)
      if (count === undefined || damages.some(damage => damage.conversationId === conversationId)) return []
      return [{ project, conversationId, what: `${count} messages are not where the lanes say` }]
    })
  }

  async function verifyConversation(
    row: number,
    progress: (events: number) => void,
  ): Promise<{ events: number; gaps: number; damages: Damage[] } | undefined> {
    const found = sql.conversation.get(row) as ConversationRow | undefined
    // Purged since the list was made.
    if (!found) return undefined
    const [conversation, conversationId, info, status, workKey, projectRow, project, newest] = found
    const laneRows = sql.lanes.all(conversation) as Array<[number, string, LaneKind, string]>
    const lanes = new Map(laneRows.map(([lane, audience, kind]) => [lane, { audience, kind }]))
    const base = baseOf(project, info)
    const check = conversationCheck({ project, conversationId, lanes, load: blobs(projectRow), base })
    for (let first = check.version + 1; first <= newest; first += sliceSize) {
      if (first > sliceSize) {
        progress(check.events)
        await breathe()
      }
      const rows = sql.events.all(conversation, first, first + sliceSize - 1) as VerifiedRow[]
      for (const row of rows) check.take(row)
    }
    for (const [, key, , audience] of laneRows) {
      if (!isAudienceOf(audience, key)) {
        check.damages.push({ project, conversationId, what: `a lane does not say that it is for ${key}` })
      }
    }
    const sessions = sql.sessions.all(conversation) as SessionRow[]
    check.compareHeads({ info, status, sessions: sessions.map(([id, is, head]) => [id, is, head]) })
    // What they are looked up by, beside heads that are right.
    if (check.damages.length === 0) {
      const { workItem } = JSON.parse(info) as ConversationInfo
      const report = (what: string) => check.damages.push({ project, conversationId, what })
      if (workKey !== workItemKey(workItem)) report('it is not found by what it is about')
      for (const [id, , head, key, owner] of sessions) {
        if (key !== sessionKey(JSON.parse(head) as SessionHead) || owner !== projectRow)
          report(`session ${id} is not found by its agent and work item`)
      }
    }
    return { events: check.events, gaps: check.gaps, damages: check.damages }
  }

  /** Where a branch leaves its parent. A head that cannot be read is reported for itself. */
  function baseOf(project: string, info: string): { version: number; hash: Uint8Array | undefined } | undefined {
    const { branchOf } = parsedOr<Partial<ConversationInfo>>(info, () => ({}))
    if (!branchOf) return undefined
    heads.forget()
    return { version: branchOf.version, hash: heads.hashAt(project, branchOf) }
  }
}
