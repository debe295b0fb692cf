/** Archives on the engine's side: lines out of the worker and into it, and what was purged. */
import { randomUUID } from 'node:crypto'
import { StoreFailed } from '../../../errors.ts'
import { isoTime } from '../../../log/time.ts'
import type { Database } from '../database.ts'
import type { WorkerClient } from '../worker/client.ts'

export async function* archiveLines(
  side: WorkerClient,
  place: { project: string; conversationId: string },
): AsyncGenerator<string> {
  let after = 0
  let upTo = 0
  let isFirst = true
  do {
    const page = await side.call('exportPage', { ...place, after, upTo: isFirst ? undefined : upTo })
    isFirst = false
    upTo = page.upTo
    yield* page.lines
    if (page.last === after) break
    after = page.last
  } while (after < upTo)
  // With nothing in it, it was purged before the first page.
  if (after !== upTo || upTo === 0)
    throw new StoreFailed('The conversation could not be read to its end. Nothing was purged.', place)
}

const pageLines = 500

export async function restoreLines(
  side: WorkerClient,
  { project, lines, now }: { project: string; lines: AsyncIterable<string>; now: number },
): Promise<string> {
  const ticket = randomUUID()
  let page: string[] = []
  try {
    for await (const line of lines) {
      page.push(line)
      if (page.length < pageLines) continue
      await side.call('restorePage', { ticket, project, lines: page, last: false, now })
      page = []
    }
  } catch (error) {
    // The worker keeps what it was given until the last page comes, and now none will. What went wrong is told, not this.
    await side.call('abandonRestore', ticket).catch(() => undefined)
    throw error
  }
  return (await side.call('restorePage', { ticket, project, lines: page, last: true, now }))!
}

export function purges(database: Database, project: string) {
  const rows = database
    .prepare(`
      select g.conversation_id, g.archive, g.at, g.events from purges g join projects p using (project)
      where p.id = ? and g.restored_at is null order by g.purge desc`)
    .all(project) as Array<[string, string, number, number]>
  return rows.map(([conversationId, archive, at, events]) => ({
    conversationId,
    archive,
    at: isoTime(at),
    events,
  }))
}
