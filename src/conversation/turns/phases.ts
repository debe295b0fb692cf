/** The phase a conversation is in, how it got there, and where it may go. */
import { parseInput } from '../../log/commands/input.ts'
import { PhaseTransition, reportStuckPhase, transitionPhase } from '../../log/commands/phase.ts'
import { legalFrom, type PhaseSet } from '../../log/commands/phase-set.ts'
import { numbersIn } from '../../log/cursor.ts'
import type { Listed } from '../../log/directory.ts'
import type { WriteOptions } from '../../log/engine.ts'
import { isOfType } from '../../log/events/recorded-event.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { ConversationAccess } from '../access/conversation-access.ts'
import { checkAsked } from '../access/input-schemas.ts'
import type { CurrentPhase, PhaseChange } from './turn-views.ts'

export class Phases {
  readonly #access: ConversationAccess
  readonly #set: PhaseSet | undefined

  constructor(access: ConversationAccess, set: PhaseSet | undefined) {
    this.#access = access
    this.#set = set
  }

  async current(conversationId: string): Promise<CurrentPhase> {
    const { info } = await this.#access.head(conversationId)
    const { version: _, ...state } = info.phaseState ?? { version: 0 }
    const phase = info.phase ?? this.#set?.initial ?? null
    return { phase, legal: this.#set ? legalFrom(this.#set, info.phase) : [], ...state }
  }

  async transition(
    conversationId: string,
    transition: PhaseTransition,
    options: WriteOptions | undefined,
  ): Promise<ConversationHead> {
    const decide = transitionPhase(conversationId, this.#set, parseInput(PhaseTransition, transition))
    const asked = ['transitionPhase', conversationId, transition]
    const { conversation } = await this.#access.execute(conversationId, { decide, asked, options })
    return conversation!
  }

  /** Changes, newest first; each leads to the one before, so a page costs the same however long the history. */
  async history(conversationId: string, page: { limit?: number; cursor?: string }): Promise<Listed<PhaseChange>> {
    checkAsked('phases', page)
    const { info } = await this.#access.head(conversationId)
    const { limit = 20, cursor } = page
    const items: PhaseChange[] = []
    let at = cursor === undefined ? info.phaseState?.version : numbersIn(cursor, 1)[0]
    while (at !== undefined && items.length < limit) {
      const recorded = await this.#access.eventAt(conversationId, at)
      if (!recorded || !isOfType(recorded, 'phase.changed')) return { items }
      const { type: _, previous, ...change } = recorded.event
      items.push({ ...change, version: recorded.version, at: recorded.at, actor: recorded.actor })
      at = previous
    }
    return { items, ...(at !== undefined && { next: String(at) }) }
  }

  /** Reports a phase that takes too long. Returns whether there was something to report. */
  async reportStuck(conversationId: string, options: WriteOptions | undefined): Promise<boolean> {
    const decide = reportStuckPhase(conversationId, this.#set)
    const { events } = await this.#access.execute(conversationId, { decide, asked: [], options })
    return events.length > 0
  }
}
