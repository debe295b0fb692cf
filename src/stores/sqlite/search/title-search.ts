/** Finds conversations by titles like a text that a person typed, mistakes included. */
import { idProblem } from '../../../log/events/id.ts'
import { shownInfo } from '../../../log/fold.ts'
import type { TitleHit, TitleQuery } from '../../../log/search.ts'
import { lastMomentOf } from '../../../log/time.ts'
import { titleScore, trigramsOf } from '../../common/search-text/search-terms.ts'
import type { Database } from '../database.ts'
import { lastUse } from '../read/event-queries.ts'
import { conditions, conversationConditions } from './conversation-conditions.ts'

/** The most that can be paged through; a longer text finds fewer. */
const maxTitles = 5000
const minute = 60_000

/** Takes a connection to the index, with the log attached as `log`. */
export function titleSearch(database: Database) {
  const findProject = database.prepare('select project from log.projects where id = ?')

  return (query: TitleQuery): TitleHit[] => {
    const project = findProject.get(query.project) as [number] | undefined
    const names = [query.conversationId, query.participant, query.agent, query.phase]
    if (!project || names.some(name => name !== undefined && idProblem(name))) return []
    const wanted = query.text.trim()
    const grams = trigramsOf(wanted)
    const { where, text, values } = conditions()
    where('c.project = ?', project[0])
    if (query.conversationId !== undefined) where('c.id = ?', query.conversationId)
    conversationConditions(query, where, 'c.conversation')
    if (query.phase !== undefined) where(`json_valid(c.info) and json_extract(c.info, '$.phase') = ?`, query.phase)
    if (query.since !== undefined) {
      const since = Date.parse(query.since)
      // `recent_at` is the minute of the last use or later, so the log is read for the rows behind it only.
      where('c.recent_at >= ?', Math.floor(since / minute) * minute)
      where(`${lastUse('c.conversation')} >= ?`, since)
    }
    if (query.until !== undefined) where('c.created_at <= ?', lastMomentOf(query.until))
    // No text and no filter.
    if (wanted === '' && values.length === 1) return []
    // A text too short for trigrams is compared with the most recent titles. `cross` makes SQLite take the titles first.
    const byGrams = grams.size > 0 && query.conversationId === undefined
    const [from, order] = byGrams
      ? ['titles t cross join log.conversations c on c.conversation = t.rowid', 't.rank']
      : ['log.conversations c', 'c.recent_at desc, c.conversation desc']
    if (byGrams) where('titles match ?', anyGram(grams))
    const rows = database
      .prepare(`select c.id, c.info, c.recent_at from ${from} where ${text()} order by ${order} limit ${maxTitles}`)
      .all(...values) as Array<[string, string, number]>
    const { limit = 20, offset = 0 } = query
    return rows
      .flatMap(([conversationId, infoText, recentAt]) => {
        const { title, status, workItem } = shownInfo(infoText, conversationId)
        const score = titleScore(title, wanted, grams)
        return score === 0 ? [] : [{ hit: { conversationId, title, status, workItem, score }, recentAt }]
      })
      .sort((a, b) => b.hit.score - a.hit.score || b.recentAt - a.recentAt)
      .slice(offset, offset + limit)
      .map(({ hit }) => hit)
  }
}

function anyGram(grams: ReadonlySet<string>): string {
  return [...grams].map(gram => `"${gram.replaceAll('"', '""')}"`).join(' OR ')
}
