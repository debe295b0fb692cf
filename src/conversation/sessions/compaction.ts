/** When a session is compacted, and with which limits. `compaction-run.ts` does it. */
import { setTimeout as wait } from 'node:timers/promises'
import type { CompactionReason } from '../../log/events/checkpoint.ts'
import type { Model } from '../../models/model.ts'
import { catchUpSize } from '../../request/assembly/catch-up.ts'
import { instructionShare } from '../../request/assembly/draft.ts'
import type { FittedRequest } from '../../request/assembly/fitted-request.ts'
import { modelLimits } from '../../request/assembly/model-limits.ts'
import { defaultShares } from '../../request/assembly/pack.ts'
import type { RequestSettings } from '../../request/assembly/settings.ts'
import type { ComputedSections } from '../../request/compaction/computed-sections.ts'
import { messageSize, overhead, sectionSize, sizeOf } from '../../request/text/sizes.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import type { SessionAccess } from '../access/session-access.ts'
import { type CompactInput, type CompactOutcome, compact, compactionLease } from './compaction-run.ts'

/** Max shares of the budget: the items of a checkpoint, and the sections that code carries on. */
const checkpointShare = 0.15
const carriedShare = 0.08
const maxWaitMs = 120_000
/** After the latch, new messages must take this share of the budget before compaction is retried. */
const minNewShare = 0.1

/** The newest messages that stay as they are: tokens of them, or their number. */
export type Keep = { tokens: number } | { messages: number }

export interface SessionCompaction {
  /** The reason to compact the session before the request is sent, if there is one. */
  dueFor(request: FittedRequest): CompactionReason | undefined
  run(request: FittedRequest, reason: CompactionReason, keep?: Keep): Promise<CompactOutcome>
  /** Starts a compaction in the background once the request is large enough. */
  inBackground(request: FittedRequest): void
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

  async function run(request: FittedRequest, reason: CompactionReason, keep?: Keep): Promise<CompactOutcome> {
    const { inputs, sections, packed, kept } = request
    const { session, settings, checkpoint } = inputs
    // If the provider counts more than we do, less of our own measure fits.
    const budget = Math.floor(inputs.budget * Math.min(1, packed.tokens / request.size))
    const fixed =
      sectionSize(sections.description.tokens) +
      Math.min(sectionSize(sections.context.tokens), Math.floor(budget * defaultShares.context)) +
      sectionSize(sections.state.tokens) +
      sectionSize(sections.changes.tokens) +
      catchUpSize(packed.catchUp) +
      sections.trigger.tokens +
      instructionsSize(request, budget) +
      overhead.message
    const maxCheckpointTokens = Math.floor(budget * checkpointShare)
    const maxCarriedTokens = Math.floor(budget * carriedShare)
    const target = Math.floor(budget * settings.target) - fixed - maxCheckpointTokens - maxCarriedTokens
    // After the latch no model is called, because its summaries did not help.
    const author = session.latched ? undefined : model
    const outcome = await compacted({
      head: session,
      base: checkpoint,
      reason,
      estimator: await estimator(),
      model: author,
      isSecondFailure: reason !== 'forced' && (session.failed?.times ?? 0) > 0,
      modelWindow: modelLimits(author?.name ?? '', settings.models).contextWindow,
      trigger: reason === 'forced' ? undefined : packed.trigger.version,
      keep: keep ?? usualKeep(settings, reason, Math.max(0, target), budget),
      maxCheckpointTokens,
      maxCarriedTokens,
      computed,
      kept,
      answerWithinMs: settings.answerWithinMs,
    })
    if (outcome.outcome === 'held') await untilReleased(session.id)
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

  /** Waits for another run that compacts this session. Its checkpoint will do. */
  async function untilReleased(sessionId: string): Promise<void> {
    const lease = { project: scope.project, name: compactionLease(sessionId) }
    const deadline = performance.now() + maxWaitMs
    while (performance.now() < deadline && (await engine.store.holderOf(lease))) await wait(20)
  }

  return {
    run,
    dueFor({ inputs, messages, packed, size }) {
      const { session, settings, budget, known, unseen } = inputs
      const { everyMessages, trigger, strategy } = settings
      if (strategy.name !== 'checkpoint' && strategy.name !== 'summarization') return undefined
      // After a compaction without progress, the next one needs new messages.
      const newest = messages.filter(message => message.version > (session.failed?.version ?? 0))
      if (session.latched && sizeOf(newest) < budget * minNewShare) return undefined
      if (packed.overflows || (!session.latched && packed.omitted.messages > 0)) return 'overflow'
      if (size > budget * trigger || (session.latched && packed.omitted.messages > 0)) return 'trigger'
      const total = known.sums.messages + (unseen?.sums.messages ?? 0)
      return everyMessages !== null && total >= everyMessages ? 'every-n' : undefined
    },
    inBackground(request) {
      const { session, settings, budget } = request.inputs
      const isDue =
        settings.strategy.name === 'checkpoint' && !session.latched && request.size > budget * settings.background
      // Without a model it takes milliseconds, and the request that needs it can wait for it.
      if (!isDue || !model) return
      // The log has its failure, and no caller waits for it.
      run(request, 'background').catch(() => undefined)
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
  // Some of them go however small they are, or the next request would be due again.
  if (reason === 'every-n' && everyMessages !== null) return { messages: Math.floor(everyMessages / 3) }
  return { tokens: reason === 'forced' ? Math.min(Math.floor(budget * 0.1), target) : target }
}

/** Instructions stay whole, up to their share, although a checkpoint stands for them. */
function instructionsSize({ inputs, messages }: FittedRequest, budget: number): number {
  return [...messages, ...inputs.unreadInstructions]
    .filter(({ version }) => inputs.instructions.has(version))
    .reduce((sum, message) => sum + Math.min(messageSize(message), budget * instructionShare), 0)
}
