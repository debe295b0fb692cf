/**
 * Checks one conversation row by row, whichever store holds it: versions without gaps, checksums, digests, the hash
 * chain, running sums, blobs; and at the end its heads, folded anew and compared with the stored ones.
 */
import { isDeepStrictEqual } from 'node:util'
import type { RecordedEvent } from '../events/recorded-event.ts'
import { parsedOr } from '../fold.ts'
import { RewrittenProof } from '../records/erased-copies.ts'
import { addSums, type Lane, type LaneSums, laneOf, noSums, subtractSums } from '../records/lane.ts'
import { blobsIn, digestOf, genesis, hashOf, isBlob, type LoadBlob } from '../records/record.ts'
import { eventIn } from '../records/stored-row.ts'
import { isoTime } from '../time.ts'
import type { Damage } from '../upkeep.ts'
import { type ConversationHead, evolveConversation } from '../views/conversation.ts'
import { evolveSession, type SessionHead, sessionOf } from '../views/session.ts'
import type { ArchiveRow } from './archived-rows.ts'

export interface ConversationCheck {
  /** The next row in order of versions, with its checksum. */
  take(row: [...ArchiveRow, crc: number]): void
  /** After the last row: compares the stored heads with what the rows said. */
  compareHeads(stored: {
    info: string
    /** By which lists find it. */
    status: string
    sessions: ReadonlyArray<readonly [id: string, status: string, head: string]>
  }): void
  /** Version of the newest row taken, and how many rows there should be up to it. */
  readonly version: number
  readonly events: number
  /** How many versions are missing between the rows. */
  readonly gaps: number
  /** Whether a head that says when it was last used may say this: programs of before took a session's expiry for use. */
  isLastUse(at: number): boolean
  readonly damages: Damage[]
}

const changedContent = 'its content does not match its digest'

export function conversationCheck({
  project,
  conversationId,
  lanes,
  load,
  base,
  checksumLane = lane => lane,
}: {
  project: string
  conversationId: string
  lanes: ReadonlyMap<number, Lane>
  load: LoadBlob
  /** Of a branch: where its parent is at the branch point; the parent's record may be lost. */
  base?: { version: number; hash: Uint8Array | undefined } | undefined
  /** What a checksum covers of the lane. */
  checksumLane?: (lane: number | null) => number | null
}): ConversationCheck {
  const damages: Damage[] = []
  const rewritten = new RewrittenProof()
  const sums = new Map<number, LaneSums>()
  const sessions = new Map<string, SessionHead>()
  /** When sessions were marked as expired. */
  const marked = new Map<string, string>()
  let head: ConversationHead | undefined
  let hash: Uint8Array = base?.hash ?? genesis(project, conversationId)
  let version = base?.version ?? 0
  let chained = !base || base.hash !== undefined
  let gaps = 0
  let newestAt = 0

  function report(what: string, at?: number): void {
    damages.push({ project, conversationId, ...(at !== undefined && { version: at }), what })
  }
  if (!chained) report('what it branches off is missing', version)

  function take(row: [...ArchiveRow, crc: number]): void {
    const [found, type, schema, at, actor, channel, request, message, laneRow] = row
    const [messages, tokens, input, output, salt, body, digest, storedHash, crc] = row.slice(9) as [
      number,
      number,
      number,
      number,
      Uint8Array | null,
      string | null,
      Uint8Array,
      Uint8Array,
      number,
    ]
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
    newestAt = at
    const event = eventIn({ version, at, lane: checksumLane(laneRow), type, schema, message, crc, body }, load)
    if (event.type === 'damaged') report(event.reason, version)
    else if (body !== null && !isOfBytes(digestOf(salt ?? new Uint8Array(), body), digest)) {
      if (!rewritten.defers({ type, version, salt: salt ?? new Uint8Array(), body })) report(changedContent, version)
    }
    rewritten.take(event)
    for (const blob of body === null || event.type === 'damaged' ? [] : blobsIn(body)) {
      const json = load(blob)
      if (json === undefined || !isBlob(json, blob)) report(`its blob ${blob} is damaged`, version)
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
    const isWhole = isBytes(digest) && isBytes(storedHash)
    if (chained && !(isWhole && isOfBytes(hashOf(hash, header, digest), storedHash)))
      report('its hash does not follow from the one before', version)
    chained = isWhole
    if (isWhole) hash = storedHash
    fold({ project, conversationId, version, position: '', at: isoTime(at), actor, channel, hash: '', event })
  }

  function fold(recorded: RecordedEvent): void {
    head = evolveConversation(head, recorded)
    const about = sessionOf(recorded)
    if (about === undefined || !head) return
    const next = evolveSession(sessions.get(about), recorded, head.info.workItem)
    if (next) sessions.set(about, next)
    if (recorded.event.type === 'session.expired') marked.set(about, recorded.at)
  }

  /** Programs of before took the mark that a session expired for a use of it; what they wrote is right, too. */
  function isHeadOf(text: string, folded: SessionHead): boolean {
    if (isSame(text, folded)) return true
    const markedAt = folded.status === 'expired' ? marked.get(folded.id) : undefined
    return markedAt !== undefined && isSame(text, { ...folded, updatedAt: markedAt })
  }

  return {
    take,
    compareHeads({ info, status, sessions: stored }) {
      for (const unproved of rewritten.unproved) report(changedContent, unproved)
      // A damaged event cannot be folded; the heads then differ because of it, which was said already.
      if (damages.length > 0) return
      if (!head) report('the log does not say how it began')
      else if (!isSame(info, head.info)) report('its head differs from what its log says')
      else if (status !== head.info.status) report('its status is another than its log says')
      if (stored.length !== sessions.size)
        report(`it has ${stored.length} session heads, its log has ${sessions.size} sessions`)
      for (const [id, sessionStatus, text] of stored) {
        const folded = sessions.get(id)
        if (!folded) report(`session ${id} is not in its log`)
        else if (sessionStatus !== folded.status || !isHeadOf(text, folded)) {
          report(`the head of session ${id} differs from what its log says`)
        }
      }
    },
    get version() {
      return version
    },
    get events() {
      return version - (base?.version ?? 0)
    },
    get gaps() {
      return gaps
    },
    isLastUse: at => at === newestAt || (head !== undefined && isoTime(at) === head.activeAt),
    damages,
  }
}

function isSame(stored: string, folded: object): boolean {
  return isDeepStrictEqual(
    parsedOr(stored, () => undefined),
    JSON.parse(JSON.stringify(folded)),
  )
}

/** In a damaged row a column may hold anything. */
function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array
}

function isOfBytes(computed: Buffer, stored: unknown): boolean {
  return isBytes(stored) && computed.equals(stored)
}
