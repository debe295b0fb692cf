/** Which rows `verify` and `repair` look at, and what they hold against each other. */
import { maximumIdBytes } from '../../../log/events/id.ts'

/** The project `p` that is named as ?1, or all; not those that are being copied, whose names nobody can ask for. */
export const isMeant = `case when ?1 is null then length(cast(p.id as blob)) <= ${maximumIdBytes} else p.id = ?1 end`

/** The lane of the message `e` is not there, or of another conversation: nothing that is read in its own leads to it. */
export const isLaneless = `e.lane is not null
  and not exists (select 1 from lanes l where l.lane = e.lane and l.conversation = e.conversation)`
