/**
 * Finds the server of a list that is wanted. All of them are asked at once, at opening and after a lost connection.
 *
 * Two may say that they take writes while a failover is under way and the old one has not been stopped yet. The one that
 * was promoted later is on a later timeline, and is taken.
 */
import pg from 'pg'
import type { ServerUrl, WantedServer } from './url.ts'

interface Answer {
  connectionString: string
  isStandby: boolean
  isReadOnly: boolean
  timeline: number
}

/** A server that does not answer in this time counts as gone. */
const answerWithinMs = 1_000
/** Time that the other servers get when one has answered. */
const graceMs = 100

/** No server of the list is of the wanted kind; in a moment one may be. It has the code of a lost connection. */
class NoServer extends Error {
  readonly code = '08001'
}

/** Returns a function that finds the connection string to use now. */
export function findHost(url: ServerUrl, { readOnly }: { readOnly: boolean }): () => Promise<string> {
  const { connectionStrings } = url
  const wanted = url.wanted ?? (readOnly ? 'any' : 'read-write')
  const [only] = connectionStrings
  if (connectionStrings.length === 1 && url.wanted === undefined) return async () => only

  return async () => {
    const answers: Answer[] = []
    let settle: (() => void) | undefined
    const questions = connectionStrings.map(async connectionString => {
      answers.push(await ask(connectionString))
      if (answers.some(answer => isWanted(answer, wanted))) settle?.()
    })
    const failures = Promise.allSettled(questions)
    const first = new Promise<void>(resolve => {
      settle = () => setTimeout(resolve, graceMs)
    })
    await Promise.race([failures, first])
    const fitting = answers.filter(answer => isWanted(answer, wanted))
    const rank = (answer: Answer) => connectionStrings.indexOf(answer.connectionString)
    fitting.sort((a, b) => b.timeline - a.timeline || rank(a) - rank(b))
    const best = fitting[0] ?? (wanted === 'prefer-standby' ? answers[0] : undefined)
    if (best) return best.connectionString
    const reason = (await failures).find(one => one.status === 'rejected')?.reason
    const which = wanted === 'any' ? 'answers' : `is ${wanted}`
    throw new NoServer(`none of the ${connectionStrings.length} servers of ${url.name} ${which}`, { cause: reason })
  }
}

function isWanted({ isStandby, isReadOnly }: Answer, wanted: WantedServer): boolean {
  if (wanted === 'any') return true
  if (wanted === 'primary') return !isStandby
  if (wanted === 'read-write') return !isStandby && !isReadOnly
  if (wanted === 'read-only') return isStandby || isReadOnly
  return isStandby
}

async function ask(connectionString: string): Promise<Answer> {
  const client = new pg.Client({
    connectionString,
    application_name: 'colloquy',
    connectionTimeoutMillis: answerWithinMs,
    query_timeout: answerWithinMs,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<[boolean, boolean, number]>({
      rowMode: 'array',
      text: `select pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on',
        case when pg_is_in_recovery() then 0
        else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end`,
    })
    const [isStandby, isReadOnly, timeline] = rows[0]!
    return { connectionString, isStandby, isReadOnly, timeline }
  } finally {
    client.end().catch(() => undefined)
  }
}
