/**
 * Which server of a list is the one: asked of all of them at once whenever there is a reason to, such as a lost connection.
 *
 * Two may say that they take writes while a failover is under way and the old one has not been stopped yet. The one that
 * was promoted later is on a later timeline, and is taken.
 */
import pg from 'pg'
import type { Place, WantedServer } from './url.ts'

interface Answer {
  connectionString: string
  isStandby: boolean
  isReadOnly: boolean
  timeline: number
}

/** A server that does not answer within this is as good as gone. */
const answerWithinMs = 1_000
/** How long the others are waited for when one has said it is the one. */
const graceMs = 100

/** No server of the list is the one that is wanted; in a moment one may be. The driver's code for it. */
class NoServer extends Error {
  readonly code = '08001'
}

/** Gives the connection string to use now. */
export function hostFinder(place: Place, { readOnly }: { readOnly: boolean }): () => Promise<string> {
  const { connectionStrings } = place
  const wanted = place.wanted ?? (readOnly ? 'any' : 'read-write')
  const [only] = connectionStrings
  if (connectionStrings.length === 1 && place.wanted === undefined) return async () => only

  return async () => {
    const answers: Answer[] = []
    let settle: (() => void) | undefined
    const asked = connectionStrings.map(async connectionString => {
      answers.push(await ask(connectionString))
      if (answers.some(answer => isWanted(answer, wanted))) settle?.()
    })
    const failures = Promise.allSettled(asked)
    const first = new Promise<void>(resolve => {
      settle = () => setTimeout(resolve, graceMs)
    })
    await Promise.race([failures, first])
    const fitting = answers.filter(answer => isWanted(answer, wanted))
    const inOrder = (one: Answer) => connectionStrings.indexOf(one.connectionString)
    fitting.sort((a, b) => b.timeline - a.timeline || inOrder(a) - inOrder(b))
    const found = fitting[0] ?? (wanted === 'prefer-standby' ? answers[0] : undefined)
    if (found) return found.connectionString
    const reason = (await failures).find(one => one.status === 'rejected')?.reason
    const which = wanted === 'any' ? 'answers' : `is ${wanted}`
    throw new NoServer(`none of the ${connectionStrings.length} servers of ${place.name} ${which}`, { cause: reason })
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
