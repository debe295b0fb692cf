/**
 * Search over the index: ranked by words (BM25), lifted by neighbours that have the words a message lacks.
 *
 * A question and its answer share few words. So a message counts as covering a query word also when one of the two
 * messages on either side has it.
 */
import type { Audience } from '../../log/events/audience.ts'
import { idProblem } from '../../log/events/id.ts'
import type { Role } from '../../log/events/message.ts'
import { shownInfo } from '../../log/fold.ts'
import { eventIn } from '../../log/records/stored-row.ts'
import type { SearchHit, SearchQuery, TitleHit, TitleQuery } from '../../log/search.ts'
import { isoTime, lastMomentOf } from '../../log/time.ts'
import { everything, isVisible, type Viewer } from '../../log/visibility.ts'
import { inBlocks, prominence, rarity, wholeBlocks } from '../common/ranking.ts'
import { termsOf, titleScore, trigramsOf } from '../common/search-text/search-terms.ts'
import { searchableText, splitScript } from '../common/search-text/searchable.ts'
import { snippetOf } from '../common/search-text/snippet.ts'
import { wordsIn } from '../common/search-text/words.ts'
import type { Database } from './database.ts'
import { conditions } from './directory.ts'
import type { Projects } from './projects.ts'
import { blobsOf, highestVersion } from './rows.ts'
import { conversationMark, projectMark, type SearchIndex } from './search-index.ts'
import { conversationConditions } from './searched-conversations.ts'

/** A word, or words in a row. */
interface Term {
  stems: readonly string[]
  /** The same in the server's notation. */
  match: string
  /** How much it tells: rare words tell more. */
  weight: number
}

interface Candidate {
  conversation: number
  version: number
  score: number
}

type CandidateRow = [
  conversation: number,
  version: number,
  length: number,
  audience: string,
  counts: Record<string, number> | null,
]

const neighbourReach = 2
/** As many as can be paged through; whoever needs more asks more exactly. */
const titlesLookedAt = 5000
const longestShown = 16 * 1024
/** Counting further would not change the order. */
const countLimit = 5_000

export function searcher({
  database,
  projects,
  feed,
}: {
  database: Database
  projects: Projects
  feed: SearchIndex['feed']
}) {
  async function messages(query: SearchQuery): Promise<SearchHit[]> {
    const stems = stemsOf(query.text)
    const project = await projects.find(query.project)
    // A name that cannot be stored is nobody's.
    const named = [query.conversationId, query.author, query.phase, query.participant, query.agent]
    if (stems.length === 0 || project === undefined) return []
    if (named.some(name => name !== undefined && idProblem(name))) return []
    await feed(project)
    const terms = await weighed(project, stems)
    const viewer = query.viewer ?? everything
    const { limit = 20, offset = 0 } = query
    const found = await candidates(query, project, terms, { viewer, wanted: wholeBlocks(offset + limit) })
    const ranked: Candidate[] = []
    for (const block of inBlocks(found)) {
      ranked.push(...(await liftByNeighbours(scored(block, terms), project, terms, viewer)))
    }
    return present(ranked.slice(offset, offset + limit), project, terms)
  }

  async function weighed(project: number, all: ReadonlyArray<readonly string[]>): Promise<Term[]> {
    const matches = all.map(stems => stems.map(stem => `'${stem}'`).join(' <-> '))
    const rows = await database.read<[number, number]>(
      `select (select count(*) from (select 1 from docs where project = $2 limit ${countLimit}) x),
        (select count(*) from (
          select 1 from docs where words @@ (('''' || $3 || ''' & (' || t.term || ')')::tsquery) limit ${countLimit}) x)
      from unnest($1::text[]) with ordinality as t(term, n) order by t.n`,
      [matches, project, projectMark(project)],
    )
    return all.map((stems, at) => {
      const [total, having] = rows[at]!
      return { stems, match: `(${matches[at]})`, weight: rarity(having, total) }
    })
  }

  async function candidates(
    query: SearchQuery,
    project: number,
    terms: readonly Term[],
    { viewer, wanted }: { viewer: Viewer; wanted: number },
  ): Promise<CandidateRow[]> {
    const { where, values } = conditions('d.project', project)
    let within = `'${projectMark(project)}'`
    if (query.conversationId !== undefined) {
      const [row] = await database.read<[number]>(
        'select conversation from conversations where project = $1 and id = $2',
        [project, query.conversationId],
      )
      if (!row) return []
      where('d.conversation = ?', row[0])
      within = `'${conversationMark(row[0])}'`
    }
    if (query.author !== undefined) where('d.author = ?', query.author)
    if (query.role !== undefined) where('d.role = ?', query.role)
    if (query.phase !== undefined) where('d.phase = ?', query.phase)
    if (query.before !== undefined) where('d.version < ?', Math.min(query.before, highestVersion))
    if (query.since !== undefined) where('d.at >= ?', Date.parse(query.since))
    if (query.until !== undefined) where('d.at <= ?', lastMomentOf(query.until))
    conversationConditions(query, where)
    where('d.words @@ ?::tsquery', `${within} & (${terms.map(term => term.match).join(' | ')})`)
    const n = values.length
    const sql = `
      select d.conversation, d.version, d.length, l.audience, (
        select json_object_agg(u.lexeme, cardinality(u.positions)) from unnest(d.words) u
        where u.lexeme = any($${n + 3}::text[]))
      from docs d join conversations c using (project, conversation) join lanes l using (project, conversation, lane)
      where ${where()}
      order by (
        select sum(case when d.words @@ t.term::tsquery then t.weight else 0 end)
        from unnest($${n + 1}::text[], $${n + 2}::float8[]) as t(term, weight)) desc, d.length, d.at desc, d.version desc,
        d.conversation desc
      limit $${n + 4} offset $${n + 5}`
    const given = [terms.map(term => term.match), terms.map(term => term.weight), terms.flatMap(term => term.stems)]
    const seen: CandidateRow[] = []
    const isSeen = visibleAudiences(viewer)
    for (let offset = 0, size = wanted; seen.length < wanted; offset += size, size = 5 * wanted) {
      const rows = await database.read<CandidateRow>(sql, [...values, ...given, size, offset])
      seen.push(...rows.filter(row => isSeen(row[3])))
      if (rows.length < size) break
    }
    return seen.slice(0, wanted)
  }

  async function liftByNeighbours(
    found: Candidate[],
    project: number,
    terms: readonly Term[],
    viewer: Viewer,
  ): Promise<Candidate[]> {
    if (terms.length < 2 || found.length === 0) return found
    const rows = await database.read<[number, number, string, boolean[]]>(
      `select d.conversation, d.version, l.audience, (
        select array_agg(d.words @@ t.term::tsquery order by t.n) from unnest($4::text[]) with ordinality as t(term, n))
      from (
        select distinct c.conversation, v.version from unnest($2::bigint[], $3::integer[]) as c(conversation, version),
          generate_series(c.version - ${neighbourReach}, c.version + ${neighbourReach}) as v(version)) n
      join docs d on d.project = $1 and d.conversation = n.conversation and d.version = n.version
      join lanes l on l.project = d.project and l.conversation = d.conversation and l.lane = d.lane`,
      [project, found.map(one => one.conversation), found.map(one => one.version), terms.map(term => term.match)],
    )
    const isSeen = visibleAudiences(viewer)
    const having = new Map(
      rows.filter(row => isSeen(row[2])).map(([conversation, version, , has]) => [`${conversation} ${version}`, has]),
    )
    const lifted = found.map(one => {
      const at = (version: number) => having.get(`${one.conversation} ${version}`)
      let own = 0
      let near = 0
      for (const term of terms.keys()) {
        if (at(one.version)?.[term]) own++
        else {
          for (let distance = 1; distance <= neighbourReach; distance++) {
            if (!at(one.version - distance)?.[term] && !at(one.version + distance)?.[term]) continue
            near++
            break
          }
        }
      }
      return { ...one, score: one.score * (0.25 + (own + near / 2) / terms.length) }
    })
    return lifted.sort((a, b) => b.score - a.score || b.version - a.version)
  }

  async function present(found: readonly Candidate[], project: number, terms: readonly Term[]): Promise<SearchHit[]> {
    if (found.length === 0) return []
    const rows = await database.read<
      [number, number, string, number, string | null, number, string | null, number, string, string]
    >(
      `select e.conversation, e.version, e.type, e.schema, e.message, e.crc, e.body, e.at, c.id, c.info
      from unnest($2::bigint[], $3::integer[]) as f(conversation, version)
      join events e on e.project = $1 and e.conversation = f.conversation and e.version = f.version
      join conversations c on c.project = e.project and c.conversation = e.conversation`,
      [project, found.map(one => one.conversation), found.map(one => one.version)],
    )
    const load = await blobsOf(
      database.read,
      project,
      rows.map(row => row[6]),
    )
    const byPlace = new Map(rows.map(row => [`${row[0]} ${row[1]}`, row]))
    return found.flatMap(one => {
      const row = byPlace.get(`${one.conversation} ${one.version}`)
      if (!row) return []
      const [, version, type, schema, message, crc, body, at, conversationId, infoText] = row
      const event = eventIn({ version, at, lane: null, type, schema, message, crc, body }, load)
      if (event.type !== 'message.added') return []
      const info = shownInfo(infoText, conversationId)
      // Marking every match of a very long text takes long; its beginning will do.
      const text = searchableText(event.parts).slice(0, longestShown)
      return {
        conversationId,
        title: info.title,
        messageId: event.messageId,
        version,
        author: event.author,
        role: event.role as Role,
        at: isoTime(at),
        archived: info.status === 'archived',
        ...snippetOf(
          text,
          terms.map(term => term.stems),
        ),
        score: one.score,
      }
    })
  }

  async function titles(query: TitleQuery): Promise<TitleHit[]> {
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
    if (query.since !== undefined) where('z.active_at >= ?', Date.parse(query.since))
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
      `select c.id, c.info, c.recent_at from conversations c join ends z using (project, conversation)
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

  return { messages, titles }
}

/** What a person typed, as stems that stand alone or in a row. */
function stemsOf(text: string): string[][] {
  const all = new Map<string, string[]>()
  for (const { match } of termsOf(text)) {
    const stems = wordsIn(splitScript(match)).map(word => word.stem)
    if (stems.length > 0) all.set(stems.join(' '), stems)
  }
  return [...all.values()]
}

function scored(rows: readonly CandidateRow[], terms: readonly Term[]): Candidate[] {
  const average = Math.max(1, rows.reduce((sum, row) => sum + row[2], 0) / Math.max(1, rows.length))
  const found = rows.map(([conversation, version, length, , counts]) => {
    let score = 0
    for (const { stems, weight } of terms) {
      const count = Math.min(...stems.map(stem => counts?.[stem] ?? 0))
      score += weight * prominence(count, length, average)
    }
    return { conversation, version, score }
  })
  return found.sort((a, b) => b.score - a.score || b.version - a.version)
}

function visibleAudiences(viewer: Viewer): (audience: string) => boolean {
  if (viewer.sees === 'everything') return () => true
  const known = new Map<string, boolean>()
  return audience => {
    let visible = known.get(audience)
    if (visible === undefined) {
      visible = isVisible(JSON.parse(audience) as Audience, viewer)
      known.set(audience, visible)
    }
    return visible
  }
}
