/**
 * One compaction of one session: the older messages of its window become a checkpoint.
 *
 * It cannot lose anything. It runs under a lease, so that there is one at a time; the log says when it starts and how it
 * ends; the new checkpoint is recorded only if the one it was made from is still the newest (messages that arrived
 * meanwhile stay behind it); and a summary that failed, is empty or makes the request no smaller changes nothing.
 */

import { LeaseHeld, LeaseLost } from '../../errors.ts'
import { CheckpointSuperseded, takeCheckpoint } from '../../log/commands/checkpoint.ts'
import type { Decision } from '../../log/commands/decision.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { Checkpoint, CheckpointItem, CheckpointTaken, CompactionReason } from '../../log/events/checkpoint.ts'
import type { ConversationEvent } from '../../log/events/event.ts'
import type { Lease } from '../../log/leases.ts'
import { isInstruction } from '../../log/views/instructions.ts'
import type { Message } from '../../log/views/message.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { type Window, windowOf } from '../../log/windows.ts'
import { answerOf } from '../../models/answer.ts'
import type { Model, ModelPriority } from '../../models/model.ts'
import { partUnseen } from '../../request/assembly/split-at-cursor.ts'
import { chunkMessages } from '../../request/compaction/chunks.ts'
import {
  boundCarried,
  type ComputedSections,
  foldCarried,
  renderCarried,
} from '../../request/compaction/computed-sections.ts'
import { cutPoint } from '../../request/compaction/cut-point.ts'
import { type CheckpointDelta, readDelta } from '../../request/compaction/delta.ts'
import { mergeDelta } from '../../request/compaction/merge.ts'
import { summariseOffline } from '../../request/compaction/offline/offline-summary.ts'
import { compactionPrompt } from '../../request/compaction/prompt.ts'
import { renderCheckpoint } from '../../request/compaction/render-checkpoint.ts'
import { messageSize } from '../../request/text/sizes.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import { timerMs } from '../../timers.ts'

export interface CompactInput {
  head: SessionHead
  /** The newest checkpoint. */
  base: Checkpoint | undefined
  reason: CompactionReason
  estimator: TokenEstimator
  /** Summarises; without one the offline summariser does. */
  model: Model | undefined
  /** A failure of this compaction latches, because the one before failed too. */
  isSecondFailure: boolean
  /** Context window of the model. */
  modelWindow: number
  /** Max milliseconds for an answer of the model. */
  answerWithinMs: number
  /** The newest messages that stay as they are: tokens of them, or their number. */
  keep: { tokens: number } | { messages: number }
  /** Version of the stored message that the request answers. It stays. */
  trigger: number | undefined
  /** Max tokens of the items of the checkpoint, and of its carried sections. */
  maxCheckpointTokens: number
  maxCarriedTokens: number
  /** The computed sections, and the part of the state that the checkpoint keeps. */
  computed: ComputedSections
  kept: Pick<Checkpoint, 'ralphLoop'>
}

export type CompactOutcome =
  | { outcome: 'taken'; checkpoint: Checkpoint }
  | { outcome: 'nothing-to-do' | 'held' }
  /** The session was cleared, archived or otherwise changed meanwhile: the summary is not taken. */
  | { outcome: 'superseded'; reason: string }
  | { outcome: 'failed'; reason: string; latched: boolean }

const leaseMs = 120_000
/** Less progress than this is not worth a call of the model. */
const minProgress = 0.1

/** The name of the lease under which a session is compacted. */
export function compactionLease(sessionId: string): string {
  return `compaction ${sessionId}`
}

export async function compact(engine: Engine, scope: Scope, input: CompactInput): Promise<CompactOutcome> {
  const { store, newId } = engine
  const { head } = input
  const { project } = scope
  let lease: Lease
  try {
    lease = await store.claim({ project, name: compactionLease(head.id), holder: newId(), forMs: leaseMs })
  } catch (error) {
    if (error instanceof LeaseHeld) return { outcome: 'held' }
    throw error
  }
  const fence = { name: lease.name, generation: lease.generation }
  try {
    // The previous holder of the lease may have taken the same checkpoint.
    const now = await store.session(project, head.id)
    if ((now?.checkpoint?.number ?? 0) !== (input.base?.number ?? 0)) return { outcome: 'held' }
    return await underLease(engine, scope, input, fence)
  } finally {
    await store.release({ project, ...fence })
  }
}

type Fence = { name: string; generation: number }

async function underLease(engine: Engine, scope: Scope, input: CompactInput, fence: Fence): Promise<CompactOutcome> {
  const { head, base, reason, model } = input
  const startedAt = engine.clock()
  const seen = (await engine.store.conversation(head.project, head.conversationId))?.version ?? 0
  const messages = await uncovered(engine, head, base)
  const upTo = cutOf(messages, input)
  const covered = upTo === undefined ? [] : messages.filter(message => message.version <= upTo)
  if (upTo === undefined || covered.length === 0) return { outcome: 'nothing-to-do' }
  const compactionId = engine.newId()
  const author = model?.name ?? 'offline'
  const before = sizeOf(covered) + (base?.tokens.checkpoint ?? 0)
  const of = { sessionId: head.id, compactionId }
  let cost: number | undefined
  try {
    await record({
      type: 'compaction.started',
      ...of,
      reason,
      base: base?.number ?? 0,
      upTo,
      messages: covered.length,
      tokensBefore: before,
      author,
    })
    const next = messages[covered.length]
    const summary = await summarise(engine, input, {
      covered,
      upTo,
      endsInsideTurn: next !== undefined && !isInstruction(next),
    })
    cost = summary.cost
    if ('problem' in summary) return await fail(summary.problem, input.isSecondFailure)
    const { checkpoint } = summary
    const after = checkpoint.tokens.checkpoint
    if (after >= before * (1 - minProgress)) {
      // Only where room was needed does a lack of progress say that checkpoints do not help.
      const latches = reason !== 'forced' && reason !== 'every-n'
      return await fail(`it would reclaim less than 10 % (${before} → ${after} tokens)`, latches)
    }
    const taken: CheckpointTaken = {
      type: 'checkpoint.taken',
      ...of,
      checkpoint,
      ...(head.checkpoint && { previous: head.checkpoint.version }),
      messages: covered.length,
      kept: messages.length - covered.length,
      tokensBefore: before,
      tokensAfter: after,
      ...spent(),
    }
    await write(takeCheckpoint(taken, { session: head, base: base?.number ?? 0, version: seen }))
    return { outcome: 'taken', checkpoint }
  } catch (error) {
    if (error instanceof LeaseLost) return { outcome: 'held' }
    if (error instanceof CheckpointSuperseded) return await supersede(error.message)
    return await fail(error instanceof Error ? error.message : String(error), input.isSecondFailure)
  }

  function spent() {
    return { durationMs: Math.max(0, engine.clock() - startedAt), ...(cost !== undefined && { cost }) }
  }

  async function fail(why: string, latched: boolean): Promise<CompactOutcome> {
    await record({ type: 'compaction.failed', ...of, reason: why, ...(latched && { latched }), ...spent() })
    return { outcome: 'failed', reason: why, latched }
  }

  async function supersede(reason: string): Promise<CompactOutcome> {
    await record({ type: 'compaction.failed', ...of, reason: `superseded: ${reason}`, superseded: true, ...spent() })
    return { outcome: 'superseded', reason }
  }

  function record(event: ConversationEvent): Promise<unknown> {
    return write(() => [event])
  }

  function write(decide: Decision): Promise<unknown> {
    return engine.execute(scope, {
      conversation: { id: head.conversationId },
      session: { id: head.id },
      decide,
      options: { fence },
      asked: [],
    })
  }
}

/**
 * Every message of the window that the base checkpoint does not cover, up to the first word of another that the agent
 * has not acknowledged: it stays as it is until a request held it.
 */
async function uncovered(engine: Engine, head: SessionHead, base: Checkpoint | undefined): Promise<Message[]> {
  const window: Window = { ...windowOf(head), start: Math.max(head.windowStart, base?.upTo ?? 0), kept: [] }
  const { agentName, id: sessionId, acknowledged } = head
  const messages: Message[] = []
  const limit = 1000
  for (;;) {
    const page = await engine.store.messages(window, { limit, after: messages.at(-1)?.version ?? 0 })
    messages.push(...page)
    const [news] = acknowledged === undefined ? [] : partUnseen(page, { agentName, sessionId, acknowledged }).unseen
    if (news) return messages.filter(message => message.version < news.version)
    if (page.length < limit) return messages
  }
}

function cutOf(messages: readonly Message[], { keep, trigger }: CompactInput): number | undefined {
  if ('tokens' in keep) return cutPoint({ messages, keepTokens: keep.tokens, trigger })
  const tail = keep.messages === 0 ? [] : messages.slice(-keep.messages)
  return cutPoint({ messages, keepTokens: sizeOf(tail), trigger })
}

async function summarise(
  engine: Engine,
  input: CompactInput,
  { covered, upTo, endsInsideTurn }: { covered: readonly Message[]; upTo: number; endsInsideTurn: boolean },
): Promise<({ checkpoint: Checkpoint } | { problem: string }) & { cost?: number | undefined }> {
  const { base, computed, estimator, model, modelWindow, maxCheckpointTokens } = input
  const carried = boundCarried(computed.carried, foldCarried(computed.carried, base?.carried, covered), {
    maxTokens: input.maxCarriedTokens,
    estimator,
  })
  const number = (base?.number ?? 0) + 1
  const priority: ModelPriority = input.reason === 'background' ? 'background' : 'normal'
  const chunks = model ? chunkMessages(covered, Math.floor(modelWindow * 0.6)) : [covered]
  let items: readonly CheckpointItem[] = base?.items ?? []
  let changed = false
  let cost: number | undefined
  for (const chunk of chunks) {
    const reply = model
      ? await ask(
          model,
          { items, messages: chunk, known: renderCarried(computed.carried, carried) },
          { answerWithinMs: input.answerWithinMs, priority },
        )
      : {
          delta: summariseOffline({
            items,
            messages: chunk,
            endsInsideTurn,
            maxTokens: Math.floor(maxCheckpointTokens / 2),
            estimator,
          }),
        }
    if ('cost' in reply && reply.cost !== undefined) cost = (cost ?? 0) + reply.cost
    if ('problem' in reply) return { problem: reply.problem, cost }
    const merged = mergeDelta({
      items,
      delta: reply.delta,
      versions: chunk.map(message => message.version),
      personVersions: chunk.filter(isOfPerson).map(message => message.version),
      number,
      newId: engine.newId,
      estimator,
      maxTokens: maxCheckpointTokens,
    })
    items = merged.items
    changed ||= merged.changed
  }
  if (!changed) return { problem: 'the summary says nothing new', cost }
  const draft: Checkpoint = {
    number,
    base: base?.number ?? 0,
    from: base?.from ?? covered[0]!.version,
    upTo,
    messages: (base?.messages ?? 0) + covered.length,
    author: model?.name ?? 'offline',
    items: [...items],
    carried,
    ...input.kept,
    tokens: { checkpoint: 0, lastCompactionInput: 0, totalSaved: 0 },
  }
  const size = estimator.count(renderCheckpoint(draft, computed))
  const read = sizeOf(covered) + (base?.tokens.checkpoint ?? 0)
  const checkpoint = {
    ...draft,
    tokens: { checkpoint: size, lastCompactionInput: read, totalSaved: (base?.tokens.totalSaved ?? 0) + read - size },
  }
  return { checkpoint, cost }
}

async function ask(
  model: Model,
  { items, messages, known }: { items: readonly CheckpointItem[]; messages: readonly Message[]; known: string[] },
  { answerWithinMs, priority }: { answerWithinMs: number; priority: ModelPriority },
): Promise<({ delta: CheckpointDelta } | { problem: string }) & { cost?: number | undefined }> {
  const { system, user } = compactionPrompt({
    items,
    messages,
    computed: [{ title: 'read off the messages by code', text: known.join('\n\n') }],
  })
  const answer = await answerOf(model, {
    system,
    messages: [{ role: 'user', content: [{ type: 'text', text: user }] }],
    signal: AbortSignal.timeout(timerMs(answerWithinMs)),
    priority,
  })
  if (!answer.ok) return { problem: `the model failed (${answer.failure.kind}): ${answer.failure.message}` }
  const read = readDelta(answer.text)
  const cost = answer.usage?.cost
  if ('problem' in read) return { problem: `the summary could not be read: ${read.problem}`, cost }
  return { delta: read.delta, cost }
}

/** Excludes messages of a harness in the place of the user, which are internal. */
function isOfPerson({ role, internal }: Message): boolean {
  return role === 'user' && !internal
}

function sizeOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageSize(message), 0)
}
