/** Which rows `verify` and `repair` look at, and what they hold against each other. */
import { maximumIdBytes } from '../../../log/events/id.ts'

/** The project `p` that is named as ?1, or all; not those that are being copied, whose names nobody can ask for. */
export const isMeant = `case when ?1 is null then length(cast(p.id as blob)) <= ${maximumIdBytes} else p.id = ?1 end`

/** A place `p` says of a message what its row `e` says. */
export const sameAsEvent = `p.lane = e.lane and p.version = e.version and p.position = e.position
  and p.messages = e.messages and p.tokens = e.tokens and p.input = e.input and p.output = e.output`

/** No place says of the message `e` what its row says. */
export const isUnplaced = `e.lane is not null
  and not exists (select 1 from places p where ${sameAsEvent})
  and not exists (select 1 from recent p where ${sameAsEvent})`

/** The lane of the message `e` is not there, or of another conversation: nothing that is read in its own leads to it. */
export const isLaneless = `e.lane is not null
  and not exists (select 1 from lanes l where l.lane = e.lane and l.conversation = e.conversation)`
