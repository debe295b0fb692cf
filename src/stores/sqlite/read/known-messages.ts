/**
 * The newest messages of lanes, most of them known from the last time: an agent is sent nearly the same window at every
 * step, and reading and decoding it takes longer than all the rest of a request.
 *
 * Of each lane that was read a stretch without holes is kept, and only what lies before or behind it is read. Rows are
 * changed by erasing and purging alone. Where another process has written since, the checksums of the stretch are added
 * up in the file and compared, before anything of it is handed out. The least lately used lanes are let go first.
 */
import { freezeInputs } from '../../../log/freeze.ts'
import type { Message } from '../../../log/views/message.ts'

/** A message with what its row costs and proves. */
export interface ReadMessage {
  message: Message
  /** The checksum that its row has; 0 where the row is gone. */
  crc: number
  /** Characters of its body. */
  size: number
}

export interface Stretch {
  /** Only versions after this one. */
  from: number
  /** Only versions before this one. */
  before: number
  limit: number
}

export interface LaneReader {
  /** The newest messages of a stretch, newest first. */
  rows(lane: number, stretch: Stretch): ReadMessage[]
  /** Their versions alone. */
  versions(lane: number, stretch: Stretch): number[]
  /** How many messages a lane has between two versions, both included, and the sum of their checksums. */
  digest(lane: number, first: number, last: number): { messages: number; crc: number }
  /** Another number when somebody else has written. */
  generation(): number
}

/** Characters of stored bodies, some forty windows of 100,000 tokens. In memory they take about three times that. */
const mostCharacters = 16_000_000
/** What an entry takes beside its body. */
const entryCharacters = 300

interface KnownLane {
  /** Oldest first, none left out between the first and the last. */
  entries: ReadMessage[]
  /** Nothing lies between this version and the first entry. */
  from: number
  /** False until it was read for the first time. */
  isRead: boolean
  /** The most entries that were of use at once. */
  most: number
  size: number
  generation: number
}

/** A lane that nothing is known of. Its place in the order counts too: there may be many. */
const unread: Readonly<KnownLane> = {
  entries: [],
  from: 0,
  isRead: false,
  most: 0,
  size: entryCharacters,
  generation: 0,
}

export class KnownMessages {
  readonly #lanes = new Map<number, KnownLane>()
  #size = 0

  /**
   * The newest messages of some lanes together, oldest first. Whoever is given them changes nothing of them.
   *
   * @returns undefined where what is known is of no help
   */
  newest(lanes: readonly number[], stretch: Stretch, read: LaneReader): Message[] | undefined {
    const known = lanes.map(lane => this.#lane(lane, read))
    const isFar = known.some(({ entries, from }) => entries.length > 0 && stretch.before <= from + 1)
    if (isFar) return undefined
    // Of several lanes only as much is read as the newest of all together have.
    const isCold = known.some(({ isRead }) => !isRead)
    const bottom = isCold && lanes.length > 1 ? beforeNewest(lanes, stretch, read) : stretch.from
    for (const [index, lane] of lanes.entries())
      if (!this.#readNewer(lane, known[index]!, { ...stretch, from: bottom }, read)) return undefined
    const { from, limit } = stretch
    let floor = Math.max(from, ...known.map(one => one.from))
    if (floor > from && countIn(known, { ...stretch, from: floor }) < limit) {
      const only = lanes.length === 1 ? known[0] : undefined
      floor = only || isCold ? bottom : beforeNewest(lanes, stretch, read)
      const wanted = only ? limit - countIn(known, stretch) : limit
      for (const [index, lane] of lanes.entries())
        this.#readOlder(lane, known[index]!, { from: floor, limit: wanted }, read)
    }
    const found = messagesIn(known, { ...stretch, from: floor })
    for (const one of known) this.#trim(one, found[0]?.version ?? stretch.before)
    this.#letGo()
    return found
  }

  /** Whether all of these lanes were asked for before. What is read once is not worth keeping. */
  wereAsked(lanes: readonly number[]): boolean {
    let were = true
    for (const lane of lanes) {
      if (this.#lanes.has(lane)) continue
      were = false
      this.#lanes.set(lane, { ...unread, entries: [] })
      this.#size += unread.size
    }
    if (!were) this.#letGo()
    return were
  }

  clear(): void {
    this.#lanes.clear()
    this.#size = 0
  }

  #lane(lane: number, read: LaneReader): KnownLane {
    const generation = read.generation()
    let known = this.#lanes.get(lane)
    if (known && known.generation !== generation && !isAsInFile(lane, known, read)) {
      this.#forget(lane, known)
      known = undefined
    }
    if (!known) {
      known = { ...unread, entries: [] }
      this.#size += known.size
    }
    known.generation = generation
    // The newest place in the order: the first is the least lately used.
    this.#lanes.delete(lane)
    this.#lanes.set(lane, known)
    return known
  }

  /** Reads what came behind the stretch. False when that is so much that a hole would be between. */
  #readNewer(lane: number, known: KnownLane, { from, before, limit }: Stretch, read: LaneReader): boolean {
    const last = known.entries.at(-1)?.message.version
    if (last !== undefined && before <= last + 1) return true
    const newer = read.rows(lane, { from: last ?? from, before, limit })
    const isFull = newer.length === limit
    if (last !== undefined && isFull) {
      // A small window says little of a large one that is known.
      if (limit < known.entries.length / 2) return false
      this.#drop(known, known.entries.length)
    }
    if (last === undefined || isFull) known.from = isFull ? newer.at(-1)!.message.version - 1 : from
    this.#count(known, newer)
    for (let index = newer.length - 1; index >= 0; index--) known.entries.push(newer[index]!)
    known.isRead = true
    return true
  }

  /** Reads what lies before the stretch: down to `from`, or as much as `limit` says. */
  #readOlder(lane: number, known: KnownLane, { from, limit }: Omit<Stretch, 'before'>, read: LaneReader): void {
    if (known.from <= from) return
    const older = read.rows(lane, { from, before: known.from + 1, limit })
    this.#count(known, older)
    known.from = older.length === limit ? older.at(-1)!.message.version - 1 : from
    known.entries.unshift(...older.reverse())
  }

  #count(known: KnownLane, entries: readonly ReadMessage[]): void {
    for (const { message, size } of entries) {
      freezeInputs(message)
      known.size += size + entryCharacters
      this.#size += size + entryCharacters
    }
  }

  /** Windows move on; what they left behind is let go when it is as much again. */
  #trim(known: KnownLane, oldest: number): void {
    known.most = Math.max(known.most, known.entries.length - indexOf(known.entries, oldest))
    if (known.entries.length > known.most * 2 + 50) this.#drop(known, known.entries.length - known.most)
  }

  #letGo(): void {
    for (const [lane, known] of this.#lanes) {
      if (this.#size <= mostCharacters) return
      this.#forget(lane, known)
    }
  }

  #forget(lane: number, known: KnownLane): void {
    this.#lanes.delete(lane)
    this.#size -= known.size
  }

  #drop(known: KnownLane, count: number): void {
    for (const { message, size } of known.entries.splice(0, count)) {
      known.size -= size + entryCharacters
      this.#size -= size + entryCharacters
      known.from = message.version
    }
  }
}

function isAsInFile(lane: number, { entries }: KnownLane, read: LaneReader): boolean {
  if (entries.length === 0) return true
  const found = read.digest(lane, entries[0]!.message.version, entries.at(-1)!.message.version)
  let crc = 0
  for (const entry of entries) crc += entry.crc
  return found.messages === entries.length && found.crc === crc
}

/** The version right before the newest of all lanes together. */
function beforeNewest(lanes: readonly number[], stretch: Stretch, read: LaneReader): number {
  const versions = lanes.flatMap(lane => read.versions(lane, stretch)).sort((a, b) => b - a)
  const oldest = versions[stretch.limit - 1]
  return oldest === undefined ? stretch.from : oldest - 1
}

function countIn(lanes: readonly KnownLane[], { from, before }: Pick<Stretch, 'from' | 'before'>): number {
  let count = 0
  for (const { entries } of lanes) count += Math.max(0, indexOf(entries, before) - indexOf(entries, from + 1))
  return count
}

function messagesIn(lanes: readonly KnownLane[], { from, before, limit }: Stretch): Message[] {
  const messages: Message[] = []
  for (const { entries } of lanes) {
    const end = indexOf(entries, before)
    const start = Math.max(indexOf(entries, from + 1), end - limit)
    for (let index = start; index < end; index++) messages.push(entries[index]!.message)
  }
  if (lanes.length === 1) return messages
  return messages.sort((a, b) => a.version - b.version).slice(-limit)
}

/** The index of the first entry from a version on. */
function indexOf(entries: readonly ReadMessage[], version: number): number {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (entries[middle]!.message.version < version) low = middle + 1
    else high = middle
  }
  return low
}
