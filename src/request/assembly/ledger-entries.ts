/** Entries of the ledger of a packed request. */
import type { Message } from '../../log/views/message.ts'
import { messageSize, noticeTokens, overhead, sectionSize, textSize } from '../text/sizes.ts'
import { accountCatchUp, type PackedCatchUp } from './catch-up.ts'
import type { LedgerEntry } from './ledger.ts'
import { oldestVersion } from './reference-contents.ts'
import type { Quote, Sections, TextSection, Trigger } from './sections.ts'

/** Returns one entry for each part, in the order of the request. */
export function account({
  sections,
  context,
  changes,
  recall,
  pinned,
  standing,
  history,
  omitted,
  catchUp,
  trigger,
}: {
  sections: Sections
  context: TextSection
  changes: TextSection
  recall: readonly Quote[]
  pinned: readonly Message[]
  standing: readonly Message[]
  history: readonly Message[]
  omitted: { messages: number; tokens: number }
  catchUp: PackedCatchUp | undefined
  trigger: Trigger
}): LedgerEntry[] {
  const entries: LedgerEntry[] = []
  const note = (entry: LedgerEntry) => entries.push(entry)
  const kept = (what: string, section: TextSection, why: string) => {
    if (section.tokens > 0) note({ what, fate: 'kept', tokens: sectionSize(section.tokens), why })
  }
  kept('description', sections.description, 'always')
  if (context.tokens === sections.context.tokens) kept('context', context, 'it fits')
  if (sections.checkpoint) {
    const { tokens, from, upTo, messages, number } = sections.checkpoint
    note({
      what: 'checkpoint',
      fate: 'kept',
      tokens: sectionSize(tokens),
      why: `checkpoint ${number} stands for what it covers`,
    })
    note({
      what: 'messages',
      fate: 'summarised',
      tokens: 0,
      why: `in checkpoint ${number}`,
      range: { from, to: upTo, messages },
    })
  }
  for (const message of pinned) {
    note({ what: 'message', fate: 'kept', tokens: messageSize(message), why: 'pinned', versions: [message.version] })
  }
  if (omitted.messages > 0) {
    note({ what: 'notice', fate: 'kept', tokens: sectionSize(noticeTokens), why: 'says what was left out' })
    const first = oldestVersion(history) ?? trigger.version ?? 0
    note({
      what: 'messages',
      fate: 'left-out',
      tokens: omitted.tokens,
      why: 'older than what the budget holds',
      range: { from: (sections.checkpoint?.upTo ?? 0) + 1, to: Math.max(1, first - 1), messages: omitted.messages },
    })
  }
  const given = [...sections.history, ...sections.standing, ...(sections.catchUp?.messages ?? [])]
  for (const message of standing) {
    const isWhole = given.includes(message)
    note({
      what: 'message',
      fate: isWhole ? 'kept' : 'trimmed',
      tokens: messageSize(message),
      why: isWhole ? standingReason : `${standingReason}; it alone is larger than a quarter of the budget`,
      versions: [message.version],
    })
  }
  // The kept messages are the newest of the given ones.
  const left = sections.history.length - history.length
  for (const [index, message] of history.entries()) {
    const isWhole = message === sections.history[left + index]
    note({
      what: 'message',
      fate: isWhole ? 'kept' : 'trimmed',
      tokens: messageSize(message),
      why: isWhole ? 'recent' : 'an old tool result was shortened',
      versions: [message.version],
    })
  }
  if (catchUp) accountCatchUp(catchUp, trigger, note)
  kept('state', sections.state, 'computed from the log')
  if (changes.tokens === sections.changes.tokens) kept('changes', changes, 'it fits')
  if (recall.length > 0) note({ what: 'recall', fate: 'kept', tokens: overhead.section, why: 'its heading' })
  for (const quote of sections.recall) {
    const isKept = recall.includes(quote)
    note({
      what: 'recall',
      fate: isKept ? 'kept' : 'left-out',
      tokens: isKept ? textSize(quote) : 0,
      why: !isKept ? 'no room in its share' : quote.beside ? `beside ${quote.beside}` : 'its words are in the message',
      versions: [quote.version],
    })
  }
  const isCut = trigger.tokens !== sections.trigger.tokens
  note({
    what: 'message',
    fate: isCut ? 'trimmed' : 'kept',
    tokens: textSize(trigger),
    why: isCut ? 'it alone is larger than the room left' : 'the message this request is for',
    ...(trigger.version !== undefined && { versions: [trigger.version] }),
  })
  return entries
}

/** Why a message is in the request although its place in the history is left out. */
const standingReason = 'the person’s instruction stays'
