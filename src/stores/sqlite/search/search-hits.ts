/** Makes hits of ranked messages: their text from the log, with the matches marked. */
import type { Role } from '../../../log/events/message.ts'
import { shownInfo } from '../../../log/fold.ts'
import { eventIn } from '../../../log/records/stored-row.ts'
import type { SearchHit } from '../../../log/search.ts'
import { isoTime } from '../../../log/time.ts'
import type { Term } from '../../common/search-text/search-terms.ts'
import { seam, searchableText } from '../../common/search-text/searchable.ts'
import type { Database } from '../database.ts'
import { blobLoader } from '../rows.ts'
import type { Candidate } from './conversation-ranking.ts'
import { anyOf } from './message-ranking.ts'

/** Marking every match of a very long text takes seconds. */
const maxMarkedCharacters = 16 * 1024
const marks = { open: '\u0002', close: '\u0003' }

type HitRow = [
  type: string,
  schema: number,
  message: string | null,
  lane: number | null,
  crc: number,
  body: string | null,
  at: number,
  version: number,
  conversationId: string,
  info: string,
  project: number,
]

export function searchHits(database: Database) {
  const sql = {
    hit: database.prepare(`
      select e.type, e.schema, e.message, e.lane, e.crc, e.body, e.at, e.version, c.id, c.info, c.project
      from log.events e join log.conversations c using (conversation) where e.position = ?`),
    show: database.prepare('insert into temp.shown (rowid, text) values (?, ?)'),
    snippets: database.prepare(`
      select rowid, snippet(shown, 0, '${marks.open}', '${marks.close}', '…', 40) from temp.shown where shown match ?`),
  }
  const blobs = blobLoader(database)

  function withSnippets(candidates: readonly Candidate[], terms: readonly Term[]): SearchHit[] {
    const hits = new Map<number, SearchHit>()
    for (const { position, score } of candidates) {
      const row = sql.hit.get(position) as HitRow | undefined
      if (!row) continue
      const [type, schema, message, lane, crc, body, at, version, conversationId, infoText, project] = row
      const event = eventIn({ version, at, lane, type, schema, message, crc, body }, blobs(project))
      if (event.type !== 'message.added') continue
      const info = shownInfo(infoText, conversationId)
      const text = searchableText(event.parts)
      sql.show.run(position, text.slice(0, maxMarkedCharacters))
      hits.set(position, {
        conversationId,
        title: info.title,
        messageId: event.messageId,
        version,
        author: event.author,
        role: event.role as Role,
        at: isoTime(at),
        archived: info.status === 'archived',
        snippet: text.slice(0, 200).replaceAll(seam, ''),
        highlights: [],
        score,
      })
    }
    for (const [position, marked] of sql.snippets.all(anyOf(terms)) as Array<[number, string]>) {
      const hit = hits.get(position)
      if (hit) Object.assign(hit, unmark(marked))
    }
    return [...hits.values()]
  }

  return (candidates: readonly Candidate[], terms: readonly Term[]): SearchHit[] => {
    database.exec(
      `create virtual table temp.shown using fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2')`,
    )
    try {
      return withSnippets(candidates, terms)
    } finally {
      // Any of the messages may be erased next. Dropping the table is quicker than removing the words one by one.
      database.exec('drop table temp.shown')
    }
  }
}

/** Plain text, and the places of the marks in it. */
function unmark(marked: string): Pick<SearchHit, 'snippet' | 'highlights'> {
  let snippet = ''
  const highlights: Array<[number, number]> = []
  let start = -1
  for (const character of marked.replaceAll(seam, '')) {
    if (character === marks.open) start = snippet.length
    else if (character === marks.close && start >= 0) {
      const last = highlights.at(-1)
      // Characters of unspaced scripts are marked one by one; adjacent ones are one match.
      if (last && last[1] === start) last[1] = snippet.length
      else highlights.push([start, snippet.length])
      start = -1
    } else snippet += character
  }
  return { snippet, highlights }
}
