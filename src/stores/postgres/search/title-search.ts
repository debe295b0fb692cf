/** Finds conversations by their titles, also where the words are misspelt. */
import { idProblem } from '../../../log/events/id.ts'
import { shownInfo } from '../../../log/fold.ts'
import type { TitleHit, TitleQuery } from '../../../log/search.ts'
import { lastMomentOf } from '../../../log/time.ts'
import { titleScore, trigramsOf } from '../../common/search-text/search-terms.ts'
import { conditions } from '../read/conditions.ts'
import { projectMark } from '../search-marks.ts'
import { conversationConditions } from './conversation-conditions.ts'
import type { SearchParts } from './message-search.ts'

/** As many as can be paged through; a search for more must ask more exactly. */
const titlesLookedAt = 5000

export function titleSearch({ database, projects, feed }: SearchParts) {
  return async (query: TitleQuery): Promise<TitleHit[]> => {
    const project = await projects.find(query.project)
    const named = [query.conversationId, query.participant, query.agent, query.phase]
    if (project === undefined || named.some(name => name !== undefined && idProblem(name))) return []
    const wanted = query.text.trim()
    const grams = trigramsOf(wanted)
    const { where, values } = conditions('c.project', project)
    if (query.conversationId !== undefined) where('c.id = ?', query.conversationId)
    conversationConditions(query, where)
    // A head may be damaged, so the server does not parse it; what else has these letters in it is told apart below.
    if (query.phase !== undefined) where('strpos(c.info, ?) > 0', `"phase":${JSON.stringify(query.phase)}`)
    if (query.since !== undefined) where('c.active_at >= ?', Date.parse(query.since))
    if (query.until !== undefined) where('c.created_at <= ?', lastMomentOf(query.until))
    // Nothing was asked for at all.
    if (wanted === '' && values.length === 1) return []
    if (query.participant !== undefined) await feed(project)
    // A text too short for trigrams is looked for as it is, in the most recent titles.
    let order = 'c.recent_at desc, c.conversation desc'
    if (grams.size > 0) {
      where('c.title_grams @> array[?] and c.title_grams && ?::text[]', projectMark(project), [...grams])
      order = `(select count(*) from unnest(c.title_grams) g where g = any($${values.length}::text[])) desc, ${order}`
    }
    const rows = await database.read<[string, string, number]>(
      `select c.id, c.info, c.recent_at from conversations c
      where ${where()} order by ${order} limit ${titlesLookedAt}`,
      values,
    )
    const { limit = 20, offset = 0 } = query
    return rows
      .flatMap(([conversationId, infoText, recentAt]) => {
        const { title, status, workItem, phase } = shownInfo(infoText, conversationId)
        if (query.phase !== undefined && phase !== query.phase) return []
        const score = titleScore(title, wanted, grams)
        return score === 0 ? [] : [{ hit: { conversationId, title, status, workItem, score }, recentAt }]
      })
      .sort((a, b) => b.hit.score - a.hit.score || b.recentAt - a.recentAt)
      .slice(offset, offset + limit)
      .map(({ hit }) => hit)
  }
}
