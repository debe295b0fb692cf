/** Lanes and their running sums. */
import { type Audience, audienceOfKey } from '../../../log/events/audience.ts'
import { type Lane, type LaneKind, type LaneSums, largestSum, noSums } from '../../../log/records/lane.ts'
import { isVisible, type Viewer } from '../../../log/visibility.ts'
import type { Database } from '../database.ts'
import { damaged } from '../errors.ts'
import type { ConversationEntry, HeadCache, LaneEntry, SeenLane } from './head-cache.ts'

type LaneRow = [lane: number, kind: LaneKind, audienceKey: string]

/** Conversations with no more lanes have all of them looked at. */
const fewLanes = 64

export function laneHeads(database: Database, cache: HeadCache) {
  const sql = {
    find: database.prepare('select lane from lanes where conversation = ? and audience_key = ? and kind = ?'),
    insert: database.prepare('insert into lanes (conversation, audience_key, kind, audience) values (?, ?, ?, ?)'),
    all: database.prepare('select lane, kind from lanes where conversation = ?'),
    few: database.prepare(`select lane, kind, audience_key from lanes where conversation = ? limit ${fewLanes + 1}`),
    // Every audience but single sessions sorts before 'session ': two index ranges, however many sessions there are.
    ofSession: database.prepare(`
      select lane, kind, audience_key from lanes where conversation = ?1 and audience_key < 'session '
      union all
      select lane, kind, audience_key from lanes where conversation = ?1 and audience_key = 'session ' || ?2`),
    // A sum that is too large to be exact, in a damaged row, must not hide the conversation.
    sumsUpTo: database.prepare(`
      select messages, min(tokens, ${largestSum}), min(input, ${largestSum}), min(output, ${largestSum}) from events
      where conversation = ? and lane = ? and version <= ? order by version desc limit 1`),
    lastAt: database.prepare(`
      select at from events where conversation = ? and lane = ? and version <= ? order by version desc limit 1`),
  }

  function sumsUpTo(conversation: number, lane: number, version: number): LaneSums {
    const row = sql.sumsUpTo.get(conversation, lane, version) as [number, number, number, number] | undefined
    if (!row) return noSums
    const [messages, tokens, input, output] = row
    return { messages, tokens, input, output }
  }

  /** The lane for writing, if there is one. */
  function findLane(entry: ConversationEntry, lane: Lane): LaneEntry | undefined {
    const cached = entry.lanes.get(`${lane.kind} ${lane.audience}`)
    if (cached) return cached
    const [row] = (sql.find.get(entry.row, lane.audience, lane.kind) as [number] | undefined) ?? []
    if (row === undefined) return undefined
    return cacheLane(entry, { ...lane, row, sums: sumsUpTo(entry.row, row, Number.MAX_SAFE_INTEGER) })
  }

  /** The lane for writing, made if it is new. */
  function ensureLane(entry: ConversationEntry, lane: Lane, audience: Audience): LaneEntry {
    const existing = findLane(entry, lane)
    if (existing) return existing
    const { lastInsertRowid } = sql.insert.run(entry.row, lane.audience, lane.kind, JSON.stringify(audience))
    cache.seenLanes.clear()
    return cacheLane(entry, { ...lane, row: Number(lastInsertRowid), sums: noSums })
  }

  function cacheLane(entry: ConversationEntry, lane: LaneEntry): LaneEntry {
    entry.lanes.set(`${lane.kind} ${lane.audience}`, lane)
    return lane
  }

  /** The lanes a viewer sees, for reading. */
  function lanesSeen(conversation: number, viewer: Viewer): readonly SeenLane[] {
    if (viewer.sees === 'everything') {
      return (sql.all.all(conversation) as Array<[number, LaneKind]>).map(([row, kind]) => ({ row, kind }))
    }
    const key = JSON.stringify([conversation, viewer])
    const cached = cache.seenLanes.get(key)
    if (cached) return cached
    const few = sql.few.all(conversation) as LaneRow[]
    const rows =
      few.length <= fewLanes ? few : lanesOfSessions(conversation, [viewer.sessionId, ...(viewer.continues ?? [])])
    const seen = rows
      .filter(([, , audienceKey]) => isVisible(audienceOf(audienceKey), viewer))
      .map(([row, kind]) => ({ row, kind }))
    cache.seenLanes.set(key, seen)
    return seen
  }

  function lanesOfSessions(conversation: number, sessionIds: readonly string[]): LaneRow[] {
    const rows = new Map<number, LaneRow>()
    for (const id of sessionIds) {
      for (const row of sql.ofSession.all(conversation, id) as LaneRow[]) rows.set(row[0], row)
    }
    return [...rows.values()]
  }

  /** A lane that does not say whom it is for is shown to no viewer. */
  function audienceOf(key: string): Audience {
    const audience = audienceOfKey(key)
    if (audience) return audience
    throw damaged(database.path, 'a lane does not say whom it is for')
  }

  return {
    findLane,
    ensureLane,
    lanesSeen,
    sumsUpTo,
    /** The time of the newest message of a lane up to a version. */
    lastAt: (conversation: number, lane: number, upTo: number) =>
      (sql.lastAt.get(conversation, lane, upTo) as [number] | undefined)?.[0],
  }
}
