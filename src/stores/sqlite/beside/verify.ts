/**
 * Refolds everything and compares: versions without gaps, checksums, digests, the hash chain, running sums, blobs, heads
 * and sessions. Reports each damage by conversation and version, and changes nothing.
 */
import { createHash } from 'node:crypto'
import { setImmediate as breathe } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { RecordedEvent } from '../../../events/recorded.ts'
import { addSums, type LaneKind, type LaneSums, laneOf, noSums, subtractSums } from '../../../log/lane.ts'
import { blobsIn, digestOf, genesis, hashOf } from '../../../log/record.ts'
import { isoTime } from '../../../log/time.ts'
import type { Damage, Progress, VerifyReport } from '../../../log/upkeep.ts'
import { type ConversationHead, evolveConversation } from '../../../views/conversation.ts'
import { evolveSession, type SessionHead, sessionOf } from '../../../views/session.ts'
import type { Database } from '../database.ts'
import { asStoreError } from '../errors.ts'
import { inVersionOrder, newestPosition } from '../places.ts'
import { parsedOr } from '../refold.ts'
import { blobLoader, eventIn } from '../rows.ts'
import { type ArchiveRow, archiveColumns } from './archived-rows.ts'

type VerifiedRow = [...ArchiveRow, crc: number, placedAt: number]

type ConversationRow = [
  conversation: number,
  id: string,
  info: string,
  project: number,
  projectId: string,
  newest: number,
]

const sliceSize = 500

/** A place `p` says of a message what its row `e` says. */
const sameAsEvent = `p.lane = e.lane and p.version = e.version and p.position = e.position and p.messages = e.messages
  and p.tokens = e.tokens and p.input = e.input and p.output = e.output`

export function verifier(database: Database) {
  const sql = {
    count: database.prepare(`
      select count(*) from events e join conversations c using (conversation) join projects p using (project)
      where ?1 is null or p.id = ?1`),
    // Positions are handed out one by one: what is neither there nor purged was taken out by hand.
    missing: database.prepare(`
      select max(coalesce((select max(position) from events), 0), cast(value as integer))
        - (select count(*) from events) - (select coalesce(sum(events), 0) from purges)
      from meta where name = 'position_floor'`),
    places: database.prepare(`
      select c.conversation, p.id, c.id from conversations c join projects p using (project)
      where (?1 is null or p.id = ?1) order by c.conversation`),
    conversation: database.prepare(`
      select c.conversation, c.id, c.info, p.project, p.id,
        coalesce((select version from events where position = ${newestPosition('c.conversation')}), 0)
      from conversations c join projects p using (project) where c.conversation = ?`),
    events: database.prepare(inVersionOrder(`${archiveColumns}, e.crc, place.version`)),
    lanes: database.prepare('select lane, audience_key, kind from lanes where conversation = ?'),
    sessions: database.prepare('select id, status, head from sessions where conversation = ?'),
    orphans: database.prepare(`
      select count(*) from events e where not exists (select 1 from conversations c where c.conversation = e.conversation)`),
    unplaced: database.prepare(`
      select count(*) from events e where lane is not null
        and not exists (select 1 from places p where ${sameAsEvent})
        and not exists (select 1 from recent p where ${sameAsEvent})`),
    misplaced: database.prepare(`
      select (select count(*) from places p where not exists (select 1 from events e where ${sameAsEvent}))
        + (select count(*) from recent p where not exists (select 1 from events e where ${sameAsEvent}))`),
    structure: database.prepare('pragma quick_check(20)'),
  }
  const blobs = blobLoader(database)

  return async ({ project, onProgress }: { project?: string; onProgress: Progress }): Promise<VerifyReport> => {
    const damages: Damage[] = []
    for (const row of sql.structure.all() as Array<[string]>) {
      if (row[0] !== 'ok') damages.push({ project: '', conversationId: '', what: `file structure: ${row[0]}` })
    }
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
        database.exec('rollback')
      }
      onProgress(events, total)
    }
    const missing = (sql.missing.get() as [number])[0] - gaps
    if (missing > 0 && project === undefined) {
      damages.push({
        project: '',
        conversationId: '',
        what: `${missing} events were removed from the end of conversations`,
      })
    }
    const [unplaced] = sql.unplaced.get() as [number]
    const [misplaced] = sql.misplaced.get() as [number]
    if (damages.length === 0 && (unplaced > 0 || misplaced > 0)) {
      damages.push({
        project: '',
        conversationId: '',
        what: `${Math.max(unplaced, misplaced)} messages are not where the lanes say`,
      })
    }
    const [orphans] = sql.orphans.get() as [number]
    if (orphans > 0)
      damages.push({ project: '', conversationId: '', what: `${orphans} events belong to no conversation` })
    return { conversations: places.length, events, damages, clean: damages.length === 0 }
  }

  async function verifyConversation(
    row: number,
    progress: (events: number) => void,
  ): Promise<{ events: number; gaps: number; damages: Damage[] } | undefined> {
    const found = sql.conversation.get(row) as ConversationRow | undefined
    // Purged since the list was made.
    if (!found) return undefined
    const [conversation, conversationId, infoText, projectRow, project, newest] = found
    const damages: Damage[] = []
    const report = (what: string, version?: number) =>
      damages.push({ project, conversationId, ...(version !== undefined && { version }), what })
    const lanes = new Map(
      (sql.lanes.all(conversation) as Array<[number, string, LaneKind]>).map(([lane, audience, kind]) => [
        lane,
        { audience, kind },
      ]),
    )
    const load = blobs(projectRow)
    const sums = new Map<number, LaneSums>()
    const sessions = new Map<string, SessionHead>()
    let head: ConversationHead | undefined
    let hash: Uint8Array = genesis(project, conversationId)
    let version = 0
    let chained = true
    let gaps = 0

    for (let first = 1; first <= newest; first += sliceSize) {
      if (first > 1) {
        progress(version)
        await breathe()
      }
      const rows = sql.events.all(conversation, first, first + sliceSize - 1) as VerifiedRow[]
      for (const one of rows) verifyEvent(one)
    }
    compareHeads()
    return { events: version, gaps, damages }

    function verifyEvent(one: VerifiedRow): void {
      const [found, type, schema, at, actor, channel, request, message, laneRow] = one
      const [messages, tokens, input, output, salt, body, digest, storedEventHash, crc, placedAt] = one.slice(9) as [
        number,
        number,
        number,
        number,
        Uint8Array | null,
        string | null,
        Uint8Array,
        Uint8Array,
        number,
        number,
      ]
      if (found !== placedAt) report(`version ${found} stands in its place`, placedAt)
      if (found <= version) {
        report(`version ${found} is there more than once`, found)
        return
      }
      if (found !== version + 1) {
        report(
          found === version + 2
            ? `version ${version + 1} is missing`
            : `versions ${version + 1} to ${found - 1} are missing`,
          version + 1,
        )
        chained = false
        gaps += found - version - 1
      }
      version = found
      const event = eventIn({ version, at, lane: laneRow, type, schema, message, crc, body }, load)
      if (event.type === 'damaged') report(event.reason, version)
      else if (body !== null && !digestOf(salt ?? new Uint8Array(), body).equals(digest))
        report('its content does not match its digest', version)
      for (const blob of body === null || event.type === 'damaged' ? [] : blobsIn(body)) {
        const json = load(blob)
        if (json === undefined || createHash('sha256').update(json).digest('hex') !== blob)
          report(`its blob ${blob} is damaged`, version)
      }
      let adds: LaneSums | undefined
      const lane = laneRow === null ? undefined : lanes.get(laneRow)
      if (laneRow !== null) {
        const before = sums.get(laneRow) ?? noSums
        const after = { messages, tokens, input, output }
        adds = subtractSums(after, before)
        sums.set(laneRow, after)
        const place = laneOf(event)
        if (place && (!isDeepStrictEqual(place.lane, lane) || !isDeepStrictEqual(after, addSums(before, place.adds)))) {
          report('its running sums or its audience do not match its content', version)
        }
      } else if (laneOf(event)) report('it is a message but stands in no lane', version)
      const header = {
        version,
        type,
        schema,
        at,
        actor,
        channel,
        ...(request !== null && { requestId: request }),
        messageId: message ?? undefined,
        lane,
        adds,
      }
      if (chained && !hashOf(hash, header, digest).equals(storedEventHash))
        report('its hash does not follow from the one before', version)
      chained = true
      hash = storedEventHash
      const recorded: RecordedEvent = {
        project,
        conversationId,
        version,
        position: '',
        at: isoTime(at),
        actor,
        channel,
        hash: '',
        event,
      }
      head = evolveConversation(head, recorded)
      const about = sessionOf(recorded)
      if (about !== undefined && head) {
        const next = evolveSession(sessions.get(about), recorded, head.info.workItem)
        if (next) sessions.set(about, next)
      }
    }

    function compareHeads(): void {
      // A damaged event cannot be folded; the heads then differ because of it, which was said already.
      if (damages.length > 0) return
      if (!head) report('the log does not say how it began')
      else if (
        !isDeepStrictEqual(
          parsedOr(infoText, () => undefined),
          JSON.parse(JSON.stringify(head.info)),
        )
      )
        report('its head differs from what its log says')
      const stored = sql.sessions.all(conversation) as Array<[string, string, string]>
      if (stored.length !== sessions.size)
        report(`it has ${stored.length} session heads, its log has ${sessions.size} sessions`)
      for (const [id, status, text] of stored) {
        const folded = sessions.get(id)
        if (!folded) report(`session ${id} is not in its log`)
        else if (
          status !== folded.status ||
          !isDeepStrictEqual(
            parsedOr(text, () => undefined),
            JSON.parse(JSON.stringify(folded)),
          )
        ) {
          report(`the head of session ${id} differs from what its log says`)
        }
      }
    }
  }
}
