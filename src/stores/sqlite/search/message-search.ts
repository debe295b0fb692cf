/** Search over the messages of the index. */
import { audienceOfKey } from '../../../log/events/audience.ts'
import { idProblem } from '../../../log/events/id.ts'
import type { SearchHit, SearchQuery } from '../../../log/search.ts'
import { everything, isVisible, type Viewer } from '../../../log/visibility.ts'
import { rarity } from '../../common/ranking.ts'
import { type Term, termsOf } from '../../common/search-text/search-terms.ts'
import type { Database } from '../database.ts'
import type { SeesLane } from './conversation-ranking.ts'
import { messageRanking, type QueryWords, type SearchPlace } from './message-ranking.ts'
import { conversationMark, projectMark, textsLike } from './place-marks.ts'
import { searchHits } from './search-hits.ts'

/** The newest messages tell how frequent a word is. With few messages, all that have it may be ranked. */
const sample = { positions: 2000, minMessages: 500 }

/** Takes a connection to the index, with the log attached as `log`. */
export function messageSearch(database: Database) {
  const ranked = messageRanking(database)
  const placeOf = placeFinder(database)
  const weighed = wordWeigher(database)
  const lanesOf = laneVisibility(database)
  const hits = searchHits(database)

  return (query: SearchQuery): SearchHit[] => {
    const terms = termsOf(query.text)
    const place = placeOf(query)
    if (terms.length === 0 || !place) return []
    const { limit = 20, offset = 0 } = query
    const sees = lanesOf(query.viewer ?? everything)
    const words = weighed(terms)
    const { telling, common } = words
    let best = ranked({ query, place, words, sees }, offset + limit)
    // No message has a telling word: one wrong letter must not hide what has the others.
    if (best.length === 0 && common.length > 0) {
      const allWords = { telling: [...telling, ...common], common: [] }
      best = ranked({ query, place, words: allWords, sees }, offset + limit)
    }
    return hits(best.slice(offset, offset + limit), terms)
  }
}

function wordWeigher(database: Database): (terms: readonly Term[]) => QueryWords {
  const newest = database.prepare(`
    select count(*), (select max(position) from docs) - ${sample.positions} from docs
    where position > (select max(position) from docs) - ${sample.positions}`)
  const newestWith = database.prepare('select count(*) from words where words match ? and rowid > ?')
  return terms => {
    const [messages, before] = newest.get() as [number, number]
    const weighed = terms.map(({ match }) => {
      const [matches] = newestWith.get(textsLike(match), before) as [number]
      return { match, weight: rarity(matches, messages), isCommon: matches > messages / 2 }
    })
    const common = terms.length < 2 || messages < sample.minMessages ? [] : weighed.filter(term => term.isCommon)
    if (common.length === terms.length) return { telling: weighed, common: [] }
    return { telling: weighed.filter(term => !common.includes(term)), common }
  }
}

/** Finds where to look; undefined where the project, the conversation or a person of the filters is unknown. */
function placeFinder(database: Database): (query: SearchQuery) => SearchPlace | undefined {
  const findProject = database.prepare('select project from log.projects where id = ?')
  const findName = database.prepare('select 1 from names where text = ?')
  const findConversation = database.prepare('select conversation from log.conversations where project = ? and id = ?')
  const countProjects = database.prepare('select count(*) from (select 1 from log.projects limit 2)')
  return ({ project: name, conversationId, author, role, phase, participant, agent }) => {
    // A name that no id can have: SQLite could take it for a shorter one.
    const names = [conversationId, author, phase, participant, agent]
    if (names.some(value => value !== undefined && idProblem(value))) return undefined
    const project = (findProject.get(name) as [number] | undefined)?.[0]
    if (project === undefined) return undefined
    // The index has no such author, role, phase or participant, so no message can match.
    if ([author, role, phase, participant].some(value => value !== undefined && !findName.get(value))) return undefined
    if (conversationId !== undefined) {
      const row = findConversation.get(project, conversationId) as [number] | undefined
      return row && { project, conversation: row[0], mark: conversationMark(row[0]) }
    }
    const [projects] = countProjects.get() as [number]
    // In the only project, all messages have its mark.
    return { project, ...(projects > 1 && { mark: projectMark(project) }) }
  }
}

function laneVisibility(database: Database): (viewer: Viewer) => SeesLane {
  const findKey = database.prepare('select audience_key from log.lanes where lane = ?')
  return viewer => {
    if (viewer.sees === 'everything') return () => true
    const cache = new Map<number, boolean>()
    return lane => {
      const cached = cache.get(lane)
      if (cached !== undefined) return cached
      const row = findKey.get(lane) as [string] | undefined
      const audience = row && audienceOfKey(row[0])
      const visible = audience !== undefined && isVisible(audience, viewer)
      cache.set(lane, visible)
      return visible
    }
  }
}
