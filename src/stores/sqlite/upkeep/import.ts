/**
 * Brings the events of an archive back as they were: same versions, salts and hashes; new positions at the end of the
 * log. Heads, lanes and sums are folded again. Nothing is visible before all of it is checked and there.
 */
import { IllegalState } from '../../../errors.ts'
import type { RecordedEvent } from '../../../log/events/recorded-event.ts'
import { blobsIn, decode, isBlob } from '../../../log/records/record.ts'
import { isoTime } from '../../../log/time.ts'
import type { ArchivedEvent, ArchiveLine } from '../../../log/upkeep/archive.ts'
import { archiveLineIn, headerOf, provedHeading, refuseOlder } from '../../../log/upkeep/archive-check.ts'
import { evolveConversation } from '../../../log/views/conversation.ts'
import { evolveSession, sessionOf } from '../../../log/views/session.ts'
import type { Database } from '../database.ts'
import { type ConversationEntry, headStore } from '../heads.ts'
import { lastPosition } from '../position.ts'
import { inTransaction } from '../transaction.ts'
import type { Operations } from '../worker/protocol.ts'
import { eventInserter } from '../write/insert-event.ts'

/** Takes the pages of archives; a conversation appears with the last of its own. */
export function importer(database: Database) {
  const write = conversationImporter(database)
  /** What came of each so far, by ticket. */
  const drafts = new Map<string, ArchiveLine[]>()

  return {
    page({
      ticket,
      project,
      lines,
      last,
      now,
    }: Operations['restorePage']['takes']): Operations['restorePage']['gives'] {
      const draft = drafts.get(ticket) ?? []
      // Kept while more is to come, and not where a line of it is none.
      drafts.delete(ticket)
      for (const line of lines) draft.push(archiveLineIn(line))
      if (last) return write({ project, lines: draft, now })
      drafts.set(ticket, draft)
      return undefined
    },
    /** No more will come of it. */
    abandon: (ticket: string) => void drafts.delete(ticket),
    /** How many wait for their next page; for those who watch over memory. */
    underWay: () => drafts.size,
  }
}

export interface ConversationImport {
  project: string
  lines: readonly ArchiveLine[]
  now: number
}

export function conversationImporter(database: Database) {
  const heads = headStore(database)
  const sql = {
    last: database.prepare(`select ${lastPosition()}`),
    purged: database.prepare(`
      select p.hash, p.archive from purges p join projects using (project)
      where id = ? and conversation_id = ? and restored_at is null order by purge desc limit 1`),
    restored: database.prepare(`
      update purges set restored_at = ? where project = ? and conversation_id = ? and restored_at is null`),
  }

  const insert = eventInserter(database, heads)

  return function write(asked: ConversationImport): string {
    const { project, lines, now } = asked
    const { conversationId } = provedHeading(lines, project)
    try {
      inTransaction(database, () => {
        heads.forget()
        if (heads.conversation(project, conversationId)) {
          throw new IllegalState(`Conversation ${conversationId} is there already. Nothing was restored.`)
        }
        const purged = sql.purged.get(project, conversationId) as [Uint8Array, string] | undefined
        refuseOlder(purged && { hash: purged[0], archive: purged[1] }, lines.at(-1)!)
        writeAll(conversationId, asked)
        sql.restored.run(now, heads.ensureProject(project, now), conversationId)
      })
    } finally {
      heads.forget()
    }
    return conversationId
  }

  function writeAll(conversationId: string, { project, lines, now }: ConversationImport): void {
    const projectRow = heads.ensureProject(project, now)
    const blobs = new Map<string, string>()
    let [position] = sql.last.get() as [number]
    refuseWithoutParent(project, lines[0]!)
    let hash: Uint8Array = new Uint8Array()
    let entry: ConversationEntry | undefined
    let head = undefined as ReturnType<typeof evolveConversation>
    for (const line of lines) {
      if ('blob' in line) {
        blobs.set(line.blob, line.json)
        continue
      }
      if (!('version' in line)) continue
      hash = Buffer.from(line.hash, 'base64')
      const { version, type, schema, body, messageId } = line
      const recorded: RecordedEvent = {
        project,
        conversationId,
        version,
        position: '',
        at: isoTime(line.at),
        actor: line.actor,
        channel: line.channel,
        hash: '',
        event: decode({ type, schema, body, messageId }, digest => blobs.get(digest)),
      }
      head = evolveConversation(head, recorded)
      if (!head) throw doesNotBegin(conversationId)
      if (!entry) {
        const rival = heads.conversationOf(project, head.info.workItem)
        if (rival) {
          throw new IllegalState(
            `Its work item has a new conversation, ${rival.head.info.id}; purge that first. Nothing was restored.`,
          )
        }
        entry = heads.createConversation(head, hash, line.at)
      }
      insertLine(entry, projectRow, ++position, line, blobs)
      const about = sessionOf(recorded)
      const next =
        about === undefined
          ? undefined
          : evolveSession(heads.session(project, about)?.head, recorded, head.info.workItem)
      if (next) heads.saveSession(entry.row, next, line.at)
    }
    if (!entry || !head) throw doesNotBegin(conversationId)
    heads.saveConversation(entry, head, hash, Date.parse(head.activeAt))
  }

  /** A branch is brought back only onto what it hangs on. */
  function refuseWithoutParent(project: string, heading: ArchiveLine): void {
    if (!('colloquy' in heading) || !heading.branchOf) return
    const { conversationId, version, hash } = heading.branchOf
    const there = heads.hashAt(project, heading.branchOf)
    if (there && Buffer.from(hash, 'base64').equals(there)) return
    throw new IllegalState(
      `It branches off conversation ${conversationId} at version ${version}, which is not there. Restore that first. Nothing was restored.`,
      { conversationId, version },
    )
  }

  function insertLine(
    entry: ConversationEntry,
    projectRow: number,
    position: number,
    line: ArchivedEvent,
    blobs: ReadonlyMap<string, string>,
  ): void {
    const { lane, salt, body } = line
    insert(entry, projectRow, headerOf(line), {
      position,
      audience: lane?.audience,
      salt: salt === null ? null : Buffer.from(salt, 'base64'),
      body,
      digest: Buffer.from(line.digest, 'base64'),
      hash: Buffer.from(line.hash, 'base64'),
      blobs: (body === null ? [] : blobsIn(body)).flatMap(digest => {
        const json = blobs.get(digest)
        return json !== undefined && isBlob(json, digest) ? [{ digest, json }] : []
      }),
    })
  }
}

function doesNotBegin(conversationId: string): IllegalState {
  return new IllegalState(`Conversation ${conversationId} does not say how it began. It was not brought back.`)
}
