/** When a session is compacted, and with what: the run itself is the agent's. */
import { setTimeout as wait } from 'node:timers/promises'
import type { CompactionReason } from '../../log/events/checkpoint.ts'
import type { Model } from '../../models/model.ts'
import { messageSize, overhead, sectionSize } from '../../request/assembly/budget.ts'
import { catchUpSize } from '../../request/assembly/catch-up.ts'
import type { ComputedSections } from '../../request/compaction/computed-sections.ts'
import { modelLimits } from '../../request/model-limits.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import type { SessionAccess } from '../access/session-access.ts'
import { type CompactInput, type CompactOutcome, compact, compactionLease } from './compaction-run.ts'
import type { Gathered } from './request-input.ts'
import type { PackedRequest } from './request-packing.ts'
import type { RequestSettings } from './request-settings.ts'

/** The items of a checkpoint may take this share of the budget, and what code carries on this one. */
const checkpointShare = 0.15
const carriedShare = 0.08
const longestWaitMs = 120_000
/** After the latch: this share of the budget has to be said before compaction is tried again. */
const worthAnotherTry = 0.1

/** What stays as it is: so many tokens of the newest messages, or so many messages. */
export type Keep = { tokens: number } | { messages: number }

export interface SessionCompaction {
  /** Why it should be compacted before it is sent, if it should. */
  dueFor(made: PackedRequest): CompactionReason | undefined
  run(made: PackedRequest, reason: CompactionReason, keep?: Keep): Promise<CompactOutcome>
  /** Starts one that nobody waits for, if it is worth it by now. */
  inBackground(made: PackedRequest): void
}

export function sessionCompaction({
  access,
  model,
  estimator,
  computed,
}: {
  access: SessionAccess
  model: Model | undefined
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  computed: ComputedSections
}): SessionCompaction {
  const { engine, scope } = access

  async function run(made: PackedRequest, reason: CompactionReason, keep?: Keep): Promise<CompactOutcome> {
    const { head, gathered, packed, settings } = made
    const { material, checkpoint, kept } = gathered
    // Where the provider counts more than we do, less of our own measure fits.
    const budget = Math.floor(made.budget * Math.min(1, packed.tokens / made.size))
    const fixed =
      sectionSize(material.description.tokens) +
      Math.min(sectionSize(material.context.tokens), Math.floor(budget * 0.4)) +
      sectionSize(material.state.tokens) +
      sectionSize(material.changes.tokens) +
      catchUpSize(packed.catchUp) +
      material.trigger.tokens +
      overhead.message
    const maxCheckpointTokens = Math.floor(budget * checkpointShare)
    const maxCarriedTokens = Math.floor(budget * carriedShare)
    const target = Math.floor(budget * settings.target) - fixed - maxCheckpointTokens - maxCarriedTokens
    // After the latch no model is asked: what it said did not help.
    const author = head.latched ? undefined : model
    const outcome = await compacted({
      head,
      base: checkpoint,
      reason,
      estimator: await estimator(),
      model: author,
      isSecondFailure: reason !== 'forced' && (head.failed?.times ?? 0) > 0,
      modelWindow: modelLimits(author?.name ?? '', settings.models).contextWindow,
      keep: keep ?? usualKeep(settings, reason, Math.max(0, target), budget),
      maxCheckpointTokens,
      maxCarriedTokens,
      computed,
      kept,
      answerWithinMs: settings.answerWithinMs,
    })
    if (outcome.outcome === 'held') await untilReleased(head.id)
    return outcome
  }

  function compacted(input: CompactInput): Promise<CompactOutcome> {
    const { traced } = engine
    if (!traced) return compact(engine, scope, input)
    const attributes = {
      'colloquy.project': scope.project,
      'colloquy.session': input.head.id,
      'colloquy.reason': input.reason,
      'colloquy.model': input.model?.name ?? 'offline',
    }
    return traced('colloquy.compact', attributes, async note => {
      const outcome = await compact(engine, scope, input)
      note({ 'colloquy.outcome': outcome.outcome })
      return outcome
    })
  }

  /** Another run compacts this session: its checkpoint will do. */
  async function untilReleased(sessionId: string): Promise<void> {
    const lease = { project: scope.project, name: compactionLease(sessionId) }
    const deadline = performance.now() + longestWaitMs
    while (performance.now() < deadline && (await engine.store.holderOf(lease))) await wait(20)
  }

  return {
    run,
    dueFor({ packed, settings, head, gathered, size, budget }) {
      const { everyMessages, trigger, strategy } = settings
      if (strategy.name !== 'checkpoint' && strategy.name !== 'summarization') return undefined
      // What made no progress will make none before something new was said.
      if (head.latched && saidSince(head.failed?.version ?? 0, gathered) < budget * worthAnotherTry) return undefined
      if (packed.overflows || (!head.latched && packed.omitted.messages > 0)) return 'overflow'
      if (size > budget * trigger || (head.latched && packed.omitted.messages > 0)) return 'trigger'
      return everyMessages !== null && gathered.window.messages >= everyMessages ? 'every-n' : undefined
    },
    inBackground(made) {
      const { head, settings, budget, size } = made
      const isDue = settings.strategy.name === 'checkpoint' && !head.latched && size > budget * settings.background
      // Without a model it takes milliseconds, and the request that needs it can wait for it.
      if (!isDue || !model) return
      // Its failure is in the log already; nobody waits for it here.
      run(made, 'background').catch(() => undefined)
    },
  }
}

function usualKeep(
  { strategy, everyMessages }: RequestSettings,
  reason: CompactionReason,
  target: number,
  budget: number,
): Keep {
  if (strategy.name === 'summarization') return { messages: strategy.keepRecentMessages }
  // However small they are, some of them go, or the next request would ask again.
  if (reason === 'every-n' && everyMessages !== null) return { messages: Math.floor(everyMessages / 3) }
  return { tokens: reason === 'forced' ? Math.min(Math.floor(budget * 0.1), target) : target }
}

function saidSince(version: number, { messages }: Gathered): number {
  return messages.reduce((sum, message) => sum + (message.version > version ? messageSize(message) : 0), 0)
}
