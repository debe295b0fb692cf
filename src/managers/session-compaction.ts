/** When a session is compacted, and with what: the run itself is the agent's. */
import { setTimeout as wait } from 'node:timers/promises'
import { type CompactOutcome, compact } from '../agent/compact.ts'
import type { ComputedSections } from '../compaction/computed.ts'
import type { CompactionReason } from '../events/checkpoint.ts'
import type { Model } from '../models/model.ts'
import { overhead, sectionSize } from '../request/budget.ts'
import { modelLimits } from '../request/models.ts'
import type { TokenEstimator } from '../request/tokens.ts'
import type { SessionHead } from '../views/session.ts'
import type { Gathered } from './material.ts'
import type { PackedRequest } from './request-packing.ts'
import type { RequestSettings } from './request-settings.ts'
import type { SessionAccess } from './session-access.ts'

/** The items of a checkpoint may take this share of the budget, and what code carries on this one. */
const checkpointShare = 0.15
const carriedShare = 0.08
const longestWaitMs = 120_000

export interface SessionCompaction {
  isDue(made: PackedRequest): boolean
  run(head: SessionHead, gathered: Gathered, budget: number, reason: CompactionReason): Promise<CompactOutcome>
  /** Starts one that nobody waits for, if it is worth it by now. */
  inBackground(made: PackedRequest): void
}

export function sessionCompaction({
  access,
  settings,
  model,
  estimator,
  computed,
}: {
  access: SessionAccess
  settings: RequestSettings
  model: Model | undefined
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  computed: ComputedSections
}): SessionCompaction {
  const { engine, scope } = access

  async function run(
    head: SessionHead,
    gathered: Gathered,
    budget: number,
    reason: CompactionReason,
  ): Promise<CompactOutcome> {
    const { material, checkpoint, kept } = gathered
    const { strategy } = settings
    const fixed =
      sectionSize(material.description.tokens) +
      Math.min(sectionSize(material.context.tokens), Math.floor(budget * 0.4)) +
      sectionSize(material.state.tokens) +
      sectionSize(material.changes.tokens) +
      material.trigger.tokens +
      overhead.message
    const maxCheckpointTokens = Math.floor(budget * checkpointShare)
    const maxCarriedTokens = Math.floor(budget * carriedShare)
    const target = Math.floor(budget * settings.target) - fixed - maxCheckpointTokens - maxCarriedTokens
    const keep =
      strategy.name === 'summarization'
        ? { messages: strategy.keepRecentMessages }
        : { tokens: reason === 'forced' ? Math.min(Math.floor(budget * 0.1), target) : Math.max(0, target) }
    const outcome = await compact(engine, scope, {
      head,
      base: checkpoint,
      reason,
      estimator: await estimator(),
      model,
      modelWindow: modelLimits(model?.name ?? '').contextWindow,
      keep,
      maxCheckpointTokens,
      maxCarriedTokens,
      computed,
      kept,
    })
    if (outcome.outcome === 'held') await untilReleased(head.id)
    return outcome
  }

  /** Another run compacts this session: its checkpoint will do. */
  async function untilReleased(sessionId: string): Promise<void> {
    const lease = { project: scope.project, name: `compaction ${sessionId}` }
    const deadline = performance.now() + longestWaitMs
    while (performance.now() < deadline && (await engine.store.holderOf(lease))) await wait(20)
  }

  return {
    run,
    isDue({ packed, strategy, head, gathered }) {
      if (head.latched || (strategy.name !== 'checkpoint' && strategy.name !== 'summarization')) return false
      const { everyMessages, trigger } = settings
      if (packed.overflows || packed.tokens > packed.ledger.budget * trigger) return true
      if (strategy.name === 'summarization' && packed.omitted.messages > 0) return true
      return everyMessages !== null && gathered.window.messages >= everyMessages
    },
    inBackground({ head, gathered, packed, strategy }) {
      const { budget } = packed.ledger
      const isDue = strategy.name === 'checkpoint' && !head.latched && packed.tokens > budget * settings.background
      // Without a model it takes milliseconds, and the request that needs it can wait for it.
      if (!isDue || !model) return
      // Its failure is in the log already; nobody waits for it here.
      run(head, gathered, budget, 'background').catch(() => undefined)
    },
  }
}
