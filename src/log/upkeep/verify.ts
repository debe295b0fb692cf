/**
 * Refolds everything and compares: versions without gaps, checksums, digests, the hash chain, running sums, blobs,
 * heads and sessions. Reports each damage by conversation and version, and changes nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isAudienceOf } from '../events/audience.ts'
import { parsedOr } from '../fold.ts'
import type { ConversationPlace, RowStore, Rows } from '../rows.ts'
import type { Damage, Progress, VerifyReport } from '../upkeep.ts'
import type { ConversationInfo } from '../views/conversation.ts'
import type { SessionHead } from '../views/session.ts'
import { ConversationCheck } from './conversation-check.ts'
import { pageRows } from './event-rows.ts'

export async function verify(
  store: RowStore,
  { project, onProgress }: { project?: string | undefined; onProgress?: Progress | undefined },
): Promise<VerifyReport> {
  const { places, problems, isReadable } = await store.rows(async rows => ({
    ...(await rows.problems(project)),
    places: await placesOf(rows, project),
  }))
  const damages: Damage[] = problems.map(what => ({ project: '', conversationId: '', what }))
  if (!isReadable) return { conversations: 0, events: 0, damages, clean: false }
  const total = places.reduce((sum, place) => sum + place.events, 0)
  let events = 0
  for (const { project: name, conversationId } of places) {
    const place = { project: name, conversationId }
    try {
      // All rows of a conversation are read as they are at one moment, whatever is appended meanwhile.
      const result = await store.rows(rows =>
        verifyConversation(rows, place, done => onProgress?.(events + done, total)),
      )
      events += result.events
      damages.push(...result.damages)
    } catch (error) {
      damages.push({ ...place, what: `cannot be read: ${error instanceof Error ? error.message : String(error)}` })
    }
    onProgress?.(events, total)
  }
  return { conversations: places.length, events, damages, clean: damages.length === 0 }
}

/** Lists the conversations of a project, or of all projects, with the number of their events. */
export async function placesOf(
  rows: Rows,
  project: string | undefined,
): Promise<Array<ConversationPlace & { events: number }>> {
  const places: Array<ConversationPlace & { events: number }> = []
  for (const name of project === undefined ? await rows.projects() : [project]) {
    for (const { conversationId, events } of await rows.conversations(name)) {
      places.push({ project: name, conversationId, events })
    }
  }
  return places
}

async function verifyConversation(
  rows: Rows,
  place: ConversationPlace,
  progress: (events: number) => void,
): Promise<{ events: number; damages: Damage[] }> {
  const head = await rows.conversation(place)
  // Purged since the list was made.
  if (!head) return { events: 0, damages: [] }
  const lanes = await rows.lanes(place)
  const check = new ConversationCheck({
    place,
    lanes: new Map(lanes.map(({ lane, audienceKey, kind }) => [lane, { audience: audienceKey, kind }])),
    base: head.branchOf,
  })
  for (;;) {
    const page = await rows.events(place, { after: check.version, limit: pageRows })
    for (const row of page) check.take(row)
    if (page.length === 0) break
    progress(check.events)
    await nextTurn()
  }
  check.compareNewest(head)
  for (const { audienceKey, audience } of lanes) {
    if (!isAudienceOf(audience, audienceKey)) {
      check.damages.push({ ...place, what: `a lane does not say that it is for ${audienceKey}` })
    }
  }
  const sessions = await rows.sessions(place)
  check.compareHeads({ ...head, sessions })
  // A head may be right while the columns that it is found by are not.
  if (check.damages.length === 0) {
    const info = parsedOr<ConversationInfo | undefined>(head.info, () => undefined)
    if (!info || !head.isListedAs(info)) check.damages.push({ ...place, what: 'it is not found by what it is about' })
    for (const session of sessions) {
      const stored = parsedOr<SessionHead | undefined>(session.head, () => undefined)
      if (stored && session.isListedAs(stored)) continue
      check.damages.push({ ...place, what: `session ${session.id} is not found by its agent and work item` })
    }
  }
  return { events: check.events, damages: check.damages }
}
