/**
 * Decisions about the work on a task: its Ralph loops, reviews and landings.
 *
 * None records anything twice, so a process that resumes after a crash may repeat them.
 */
import { IllegalState } from '../../../errors.ts'
import type { ConflictsFound, LandingEnded, LandingStarted } from '../../events/work/landing.ts'
import type { IterationEnded, RalphEnded, RalphStarted } from '../../events/work/ralph.ts'
import type { ReviewGiven } from '../../events/work/review.ts'
import type { Heads } from '../../views/heads.ts'
import { type Decision, openConversationIn } from '../decision.ts'

/** Keeps an open loop, or starts the next round. */
export function startRalph(conversationId: string, started: Omit<RalphStarted, 'type' | 'round'>): Decision {
  return heads => {
    const { ralph } = openConversationIn(heads, conversationId).info
    if (ralph && ralph.outcome === undefined) return []
    return [{ type: 'ralph.started', ...started, round: (ralph?.round ?? 0) + 1 }]
  }
}

export function endIteration(conversationId: string, ended: Omit<IterationEnded, 'type'>): Decision {
  return heads => {
    const loop = openLoop(heads, conversationId, ended.loopId)
    if (ended.number <= loop.iteration) return []
    if (ended.number > loop.iteration + 1) {
      throw new IllegalState(
        `Iteration ${ended.number} cannot end: the last ended iteration is ${loop.iteration}. Nothing was written.`,
        { conversationId },
      )
    }
    return [{ type: 'iteration.ended', ...ended }]
  }
}

export function endRalph(conversationId: string, ended: Omit<RalphEnded, 'type' | 'iterations' | 'usage'>): Decision {
  return heads => {
    const { ralph } = openConversationIn(heads, conversationId).info
    if (ralph?.id === ended.loopId && ralph.outcome !== undefined) return []
    const { iteration, usage } = openLoop(heads, conversationId, ended.loopId)
    return [{ type: 'ralph.ended', ...ended, iterations: iteration, ...(iteration > 0 && { usage }) }]
  }
}

/** Records the first verdict of each review. */
export function giveReview(conversationId: string, verdict: Omit<ReviewGiven, 'type'>): Decision {
  return heads => {
    const { review } = openConversationIn(heads, conversationId).info
    const next = (review?.number ?? 0) + 1
    if (verdict.number < next) return []
    return [{ type: 'review.given', ...verdict, number: next }]
  }
}

export function startLanding(conversationId: string, started: Omit<LandingStarted, 'type'>): Decision {
  return heads => {
    const { landing } = openConversationIn(heads, conversationId).info
    const isSame = landing?.tip === started.tip && landing.base === started.base && landing.outcome === undefined
    return isSame ? [] : [{ type: 'landing.started', ...started }]
  }
}

export function findConflicts(conversationId: string, { files }: Omit<ConflictsFound, 'type'>): Decision {
  return heads => {
    const { landing } = openConversationIn(heads, conversationId).info
    return landing?.conflicts?.join('\n') === files.join('\n') ? [] : [{ type: 'conflicts.found', files }]
  }
}

export function endLanding(conversationId: string, ended: Omit<LandingEnded, 'type'>): Decision {
  return heads => {
    const { landing } = openConversationIn(heads, conversationId).info
    return !landing || landing.outcome !== undefined ? [] : [{ type: 'landing.ended', ...ended }]
  }
}

function openLoop(heads: Heads, conversationId: string, loopId: string) {
  const { ralph } = openConversationIn(heads, conversationId).info
  if (ralph?.id === loopId && ralph.outcome === undefined) return ralph
  throw new IllegalState(`Loop ${loopId} of conversation ${conversationId} is over. Nothing was written.`, {
    conversationId,
    loopId,
  })
}
