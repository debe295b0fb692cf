/**
 * Settles conversations that are due: stuck phases, turns past their time-out, delegations whose end the parent does
 * not know, crashed executions and runs, unanswered questions. Each is recorded once; nothing is started, routed or
 * cleared.
 */

import { ColloquyError } from '../../errors.ts'
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { Team } from './team-parts.ts'

export interface LookedAfter {
  stuckPhases: number
  timedOutTurns: number
  endedDelegations: number
  crashedExecutions: number
  crashedRuns: number
  timedOutQuestions: number
}

export const nothingLookedAfter: LookedAfter = {
  stuckPhases: 0,
  timedOutTurns: 0,
  endedDelegations: 0,
  crashedExecutions: 0,
  crashedRuns: 0,
  timedOutQuestions: 0,
}

const pageSize = 100

export async function lookAfter(
  engine: Engine,
  scope: Scope,
  team: Team,
  { options, onPage }: { options?: WriteOptions; onPage?: () => Promise<unknown> } = {},
): Promise<LookedAfter> {
  const found = { ...nothingLookedAfter }
  const now = engine.clock()
  let cursor: string | undefined
  do {
    const page = await engine.store.due(scope.project, now, {
      limit: pageSize,
      ...(cursor !== undefined && { cursor }),
    })
    // Together, so that what is recorded of them shares commits.
    await Promise.all(page.items.map(head => one(head, team, found, options)))
    cursor = page.next
    if (cursor !== undefined) await onPage?.()
  } while (cursor !== undefined)
  return found
}

async function one(head: ConversationHead, team: Team, found: LookedAfter, options?: WriteOptions): Promise<void> {
  const { id } = head.info
  try {
    found.crashedExecutions += await team.executions.settle(head, options)
    found.crashedRuns += await team.settleRuns(head, options)
    if (head.info.status !== 'active') return
    found.timedOutQuestions += await team.questions.timeOut(head, options)
    if (await team.phases.reportStuck(id, options)) found.stuckPhases++
    if (await team.turns.timeOut(id, options)) found.timedOutTurns++
    found.endedDelegations += await team.delegations.settle(head, options)
  } catch (error) {
    // One that was closed, purged or damaged meanwhile must not keep the others from being looked after.
    if (!isOnlyOfOne(error)) throw error
  }
}

/** True if a failure concerns one conversation, so that the others can still be settled. */
export function isOnlyOfOne(error: unknown): boolean {
  if (!(error instanceof ColloquyError) || error.code === 'lease/lost') return false
  return error.status < 500 || error.code === 'store/damaged'
}
