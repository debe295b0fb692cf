/**
 * Checks one conversation row by row: versions without gaps, checksums, digests, the hash chain, running sums, blobs;
 * and at the end its heads, folded again and compared with the stored ones.
 */
import { isDeepStrictEqual } from 'node:util'
import type { StoredEvent } from '../events/event.ts'
import type { RecordedEvent } from '../events/recorded-event.ts'
import { parsedOr } from '../fold.ts'
import { RewrittenProof } from '../records/erased-copies.ts'
import { addSums, type Lane, type LaneSums, laneOf, noSums, subtractSums } from '../records/lane.ts'
import { blobsIn, digestOf, genesis, hashOf, isBlob } from '../records/record.ts'
import type { ConversationPlace, ConversationRow, EventRow, SessionRow } from '../rows.ts'
import { isoTime } from '../time.ts'
import type { Damage } from '../upkeep.ts'
import { type ConversationHead, evolveConversation } from '../views/conversation.ts'
import { evolveSession, type SessionHead, sessionOf } from '../views/session.ts'
import { eventOf, recordedOf } from './event-rows.ts'

export interface ConversationCheckInput {
  place: ConversationPlace
  lanes: ReadonlyMap<number, Lane>
  /** The parent's event that a branch continues. Its hash is undefined when it is lost. */
  base: { version: number; hash: Uint8Array | undefined } | undefined
}

const changedContent = 'its content does not match its digest'
const noSalt = new Uint8Array()

export class ConversationCheck {
  readonly damages: Damage[] = []
  /** The version of the newest row taken. */
  version: number
  readonly #place: ConversationPlace
  readonly #lanes: ReadonlyMap<number, Lane>
  readonly #base: number
  readonly #rewritten = new RewrittenProof()
  readonly #sums = new Map<number, LaneSums>()
  readonly #sessions = new Map<string, SessionHead>()
  #head: ConversationHead | undefined
  #hash: Uint8Array
  /** True while the hash of the row before is known. Without it the next hash cannot be checked. */
  #isChained: boolean

  constructor({ place, lanes, base }: ConversationCheckInput) {
    this.#place = place
    this.#lanes = lanes
    this.#base = base?.version ?? 0
    this.version = this.#base
    this.#hash = base?.hash ?? genesis(place.project, place.conversationId)
    this.#isChained = !base || base.hash !== undefined
    if (!this.#isChained) this.#report('what it branches off is missing', this.version)
  }

  /** The number of rows there should be up to the newest one. */
  get events(): number {
    return this.version - this.#base
  }

  /** Takes the next row in the order of versions. */
  take(row: EventRow): void {
    this.#checkVersion(row.version)
    this.version = row.version
    const event = eventOf(row)
    this.#checkContent(row, event)
    const adds = this.#checkSums(row, event)
    this.#checkHash(row, adds)
    this.#fold(recordedOf(this.#place, row, event))
  }

  /** Compares the newest event with the one that the head names. */
  compareNewest({ version, hash, activeAt }: ConversationRow): void {
    if (this.version < version) {
      this.#report(`versions after ${this.version} are missing`, version)
      return
    }
    const isLastUse = this.#head === undefined || isoTime(activeAt) === this.#head.activeAt
    if (this.version > version || !isSameBytes(this.#hash, hash) || !isLastUse) {
      this.#report('its newest event is not the one its head names', version)
    }
  }

  /** Compares the stored heads with those folded from the rows. Also reports rewritten facts that no erasure proved. */
  compareHeads({
    info,
    status,
    sessions,
  }: Pick<ConversationRow, 'info' | 'status'> & { sessions: readonly SessionRow[] }): void {
    for (const unproved of this.#rewritten.unproved) this.#report(changedContent, unproved)
    // A damaged event cannot be folded, so heads that differ would only report the same damage again.
    if (this.damages.length > 0) return
    if (!this.#head) this.#report('the log does not say how it began')
    else if (!isHead(info, this.#head.info)) this.#report('its head differs from what its log says')
    else if (status !== this.#head.info.status) this.#report('its status is another than its log says')
    if (sessions.length !== this.#sessions.size) {
      this.#report(`it has ${sessions.length} session heads, its log has ${this.#sessions.size} sessions`)
    }
    for (const session of sessions) {
      const head = this.#sessions.get(session.id)
      if (!head) this.#report(`session ${session.id} is not in its log`)
      else if (session.status !== head.status || !isHead(session.head, head)) {
        this.#report(`the head of session ${session.id} differs from what its log says`)
      }
    }
  }

  #report(what: string, version?: number): void {
    this.damages.push({ ...this.#place, ...(version !== undefined && { version }), what })
  }

  #checkVersion(version: number): void {
    const next = this.version + 1
    if (version === next) return
    this.#report(
      version === next + 1 ? `version ${next} is missing` : `versions ${next} to ${version - 1} are missing`,
      next,
    )
    this.#isChained = false
  }

  #checkContent({ version, type, salt, body, digest, blobs }: EventRow, event: StoredEvent): void {
    this.#rewritten.take(event)
    if (event.type === 'damaged') {
      this.#report(event.reason, version)
      return
    }
    if (body === null) return
    const isOfDigest = isSameBytes(digestOf(salt ?? noSalt, body), digest)
    if (!isOfDigest && !this.#rewritten.defers({ type, version, salt: salt ?? noSalt, body })) {
      this.#report(changedContent, version)
    }
    for (const blob of blobsIn(body)) {
      const json = blobs.get(blob)
      if (json === undefined || !isBlob(json, blob)) this.#report(`its blob ${blob} is damaged`, version)
    }
  }

  /** Returns what the message added to its lane. */
  #checkSums({ version, lane: number, sums }: EventRow, event: StoredEvent): LaneSums | undefined {
    const place = laneOf(event)
    if (number === null) {
      if (place) this.#report('it is a message but stands in no lane', version)
      return undefined
    }
    const before = this.#sums.get(number) ?? noSums
    const after = sums ?? noSums
    this.#sums.set(number, after)
    const lane = this.#lanes.get(number)
    const isRight =
      !place ||
      (place.lane.audience === lane?.audience &&
        place.lane.kind === lane.kind &&
        isDeepStrictEqual(after, addSums(before, place.adds)))
    if (!isRight) this.#report('its running sums or its audience do not match its content', version)
    return subtractSums(after, before)
  }

  #checkHash(row: EventRow, adds: LaneSums | undefined): void {
    const { version, type, schema, at, actor, channel, request, message, lane, digest, hash } = row
    const header = {
      ...{ version, type, schema, at, actor, channel, adds },
      ...(request !== null && { requestId: request }),
      messageId: message ?? undefined,
      lane: lane === null ? undefined : this.#lanes.get(lane),
    }
    const isWhole = isBytes(digest) && isBytes(hash)
    if (this.#isChained && !(isWhole && isSameBytes(hashOf(this.#hash, header, digest), hash))) {
      this.#report('its hash does not follow from the one before', version)
    }
    this.#isChained = isWhole
    if (isWhole) this.#hash = hash
  }

  #fold(recorded: RecordedEvent): void {
    this.#head = evolveConversation(this.#head, recorded)
    const about = sessionOf(recorded)
    if (about === undefined || !this.#head) return
    const next = evolveSession(this.#sessions.get(about), recorded, this.#head.info.workItem)
    if (next) this.#sessions.set(about, next)
  }
}

function isHead(stored: string, head: object): boolean {
  return isDeepStrictEqual(
    parsedOr(stored, () => undefined),
    JSON.parse(JSON.stringify(head)),
  )
}

/** In a damaged row a column may hold anything. */
function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array
}

function isSameBytes(computed: Uint8Array, stored: unknown): boolean {
  return isBytes(stored) && Buffer.compare(computed, stored) === 0
}
