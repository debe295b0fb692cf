/** The phases that conversations were in when their messages were written. */
import { eventIn } from '../../log/records/stored-row.ts'
import type { Run } from './database.ts'

interface Message {
  conversation: number
  version: number
}

export type PhaseAt = (message: Message) => string | undefined

type PhaseRow = [
  conversation: number,
  version: number,
  type: string,
  schema: number,
  at: number,
  crc: number,
  body: string | null,
]

/** Of each conversation, what was said about its phase last before the messages and between them. */
export async function phasesOf(run: Run, project: number, messages: readonly Message[]): Promise<PhaseAt> {
  const spans = new Map<number, { first: number; last: number }>()
  for (const { conversation, version } of messages) {
    const { first, last } = spans.get(conversation) ?? { first: version, last: version }
    spans.set(conversation, { first: Math.min(first, version), last: Math.max(last, version) })
  }
  const all = [...spans.values()]
  const rows = await run<PhaseRow>(
    `select e.conversation, e.version, e.type, e.schema, e.at, e.crc, e.body
    from unnest($2::bigint[], $3::integer[], $4::integer[]) as s(conversation, first, last)
    join lateral (
      select * from events where project = $1 and conversation = s.conversation and version < s.last
        and type in ('conversation.created', 'phase.changed')
        and version >= coalesce((
          select version from events where project = $1 and conversation = s.conversation and version < s.first
            and type in ('conversation.created', 'phase.changed')
          order by version desc limit 1), 0)) e on true
    order by e.conversation, e.version`,
    [project, [...spans.keys()], all.map(span => span.first), all.map(span => span.last)],
  )
  const phases = new Map<number, Array<{ since: number; phase: string }>>()
  for (const row of rows) {
    const [conversation, version] = row
    const phase = phaseIn(row)
    if (phase === undefined) continue
    const known = phases.get(conversation)
    if (known) known.push({ since: version, phase })
    else phases.set(conversation, [{ since: version, phase }])
  }
  return ({ conversation, version }) => phases.get(conversation)?.findLast(({ since }) => since < version)?.phase
}

function phaseIn([, version, type, schema, at, crc, body]: PhaseRow): string | undefined {
  const event = eventIn({ version, at, lane: null, type, schema, message: null, crc, body }, () => undefined)
  if (event.type === 'phase.changed') return event.to
  if (event.type !== 'conversation.created') return undefined
  const phase = event.phase ?? event.inherits?.phase
  return typeof phase === 'string' ? phase : undefined
}
