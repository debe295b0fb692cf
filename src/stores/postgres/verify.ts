/**
 * Refolds everything and compares: versions without gaps, checksums, digests, the hash chain, running sums, blobs, heads
 * and sessions. Reports each damage by conversation and version, and changes nothing.
 */
import { maximumIdBytes } from '../../log/events/id.ts'
import { type ArchiveRow, archiveColumns } from '../../log/upkeep/archived-rows.ts'
import { conversationCheck } from '../../log/upkeep/verify-conversation.ts'
import type { Damage, Progress, VerifyReport } from '../../log/upkeep.ts'
import { lanesOf } from './archives.ts'
import { baseOf } from './branches.ts'
import type { Database, Run } from './database.ts'
import { asStoreError } from './errors.ts'
import { blobsOf } from './rows.ts'

type ConversationRow = [project: number, projectId: string, conversation: number, id: string]

const sliceSize = 500

/** The project that is named, or all; not those that are being copied, whose names nobody can ask for. */
export const isMeant = `case when $1::text is null then octet_length(p.id) <= ${maximumIdBytes} else p.id = $1 end`

export function verifier(database: Database) {
  return async ({ project, onProgress }: { project?: string; onProgress?: Progress }): Promise<VerifyReport> => {
    const damages: Damage[] = []
    const [count] = await database.read<[number]>(
      `select coalesce(sum(z.version - coalesce(c.branch_version, 0)), 0)::bigint
      from conversations c join projects p using (project) join ends z using (project, conversation) where ${isMeant}`,
      [project ?? null],
    )
    const places = await database.read<ConversationRow>(
      `select p.project, p.id, c.conversation, c.id from conversations c join projects p using (project)
      where ${isMeant} order by p.project, c.conversation`,
      [project ?? null],
    )
    const total = count![0]
    let events = 0
    for (const place of places) {
      try {
        // One view of the conversation, whatever is appended meanwhile.
        const found = await database.transaction(
          run => verifyConversation(run, place, done => onProgress?.(events + done, total)),
          { readOnly: true },
        )
        events += found?.events ?? 0
        damages.push(...(found?.damages ?? []))
      } catch (error) {
        const what = `cannot be read: ${asStoreError(error, database.place.name).message}`
        damages.push({ project: place[1], conversationId: place[3], what })
      }
      onProgress?.(events, total)
    }
    return { conversations: places.length, events, damages, clean: damages.length === 0 }
  }
}

async function verifyConversation(
  run: Run,
  [number, project, conversation, conversationId]: ConversationRow,
  progress: (events: number) => void,
): Promise<{ events: number; damages: Damage[] } | undefined> {
  const [head] = await run<[string, string, number, Uint8Array, number]>(
    `select info, status, coalesce(version, 0), coalesce(hash, ''), coalesce(active_at, 0)
    from conversations left join ends using (project, conversation) where project = $1 and conversation = $2`,
    [number, conversation],
  )
  // Purged since the list was made.
  if (!head) return undefined
  const [info, status, version, hash, activeAt] = head
  const lanes = new Map(
    (await lanesOf({ read: run }, number, conversation)).map(([lane, { audienceKey, kind }]) => [
      lane,
      { audience: audienceKey, kind },
    ]),
  )
  let loaded: (digest: string) => string | undefined = () => undefined
  const check = conversationCheck({
    project,
    conversationId,
    lanes,
    load: digest => loaded(digest),
    base: await baseOf(run, number, conversation),
    checksumLane: () => null,
  })
  let last: [...ArchiveRow, number] | undefined
  for (;;) {
    const rows = await run<[...ArchiveRow, number]>(
      `select ${archiveColumns}, e.crc from events e
      where e.project = $1 and e.conversation = $2 and e.version > $3 order by e.version limit ${sliceSize}`,
      [number, conversation, check.version],
    )
    loaded = await blobsOf(
      run,
      number,
      rows.map(row => row[14]),
    )
    for (const row of rows) check.take(row)
    last = rows.at(-1) ?? last
    if (rows.length < sliceSize) break
    progress(check.events)
  }
  const report = (what: string) => check.damages.push({ project, conversationId, version, what })
  if (check.version < version) report(`versions after ${check.version} are missing`)
  else if (!last || Buffer.compare(last[16], hash) !== 0 || !check.isLastUse(activeAt)) {
    report('its newest event is not the one its head names')
  }
  const sessions = await run<[string, string, string]>(
    'select id, status, head from sessions where project = $1 and conversation = $2',
    [number, conversation],
  )
  check.compareHeads({ info, status, sessions })
  return { events: check.events, damages: check.damages }
}
