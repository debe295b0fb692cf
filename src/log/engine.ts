/**
 * Read, decide, append, publish. Every decision is recorded through the engine.
 *
 * A decision runs inside the store's write, on the heads as they are then, so no other write can come between reading and
 * recording. The engine sends nothing to subscribers: they read what was appended from the log.
 */
import { createHash } from 'node:crypto'
import { InvalidInput, KeyReused } from '../errors.ts'
import type { Traced } from '../tracing.ts'
import type { Decision } from './commands/decision.ts'
import { checkTextLimits } from './commands/text-limits.ts'
import type { Appended, Once, Proposal } from './event-log.ts'
import { idProblem } from './events/id.ts'
import type { Origin, RecordedEvent } from './events/recorded-event.ts'
import type { WorkItem } from './events/work-item.ts'
import { withLineage } from './lineage.ts'
import type { StoreCalls } from './store.ts'

/** The project, actor and channel of a write. */
export interface Scope extends Origin {
  project: string
}

/** Options of every writing call. */
export interface WriteOptions {
  /** Makes the call happen once: repeated with the same key it gives the first result. */
  idempotencyKey?: string
  /** Refuses the write unless the conversation is at this version. */
  expectedVersion?: number
  /** Refuses the write unless this lease is still held. */
  fence?: { name: string; generation: number }
}

interface Execution {
  /** By id; by work item, which is created under `id` if it has no conversation yet; or that of the session. */
  conversation: { id: string; workItem?: WorkItem } | 'of-session'
  session?: { id: string } | { key: string }
  decide: Decision
  options?: WriteOptions | undefined
  /**
   * The call: the method, its target and every argument as given. Its digest tells a repeated call from
   * a different call with the same idempotency key. Arguments that were not given are left out, so that a later release
   * may add one and the digest of older calls stays the same.
   */
  asked: readonly unknown[]
}

export interface Engine {
  readonly store: StoreCalls
  readonly clock: () => number
  readonly newId: () => string
  /** Puts spans around work, where a tracer was handed in. */
  readonly traced: Traced | undefined
  execute(scope: Scope, execution: Execution): Promise<Appended>
  /**
   * Calls the listener with the events of this process, right after each commit. A caller that must miss nothing
   * subscribes instead. A failure of the listener is not thrown: the write is durable, and its caller would repeat it.
   */
  onRecorded(listener: RecordedListener): () => void
}

export type RecordedListener = (events: readonly RecordedEvent[]) => void

export function engine({
  store,
  clock,
  newId,
  traced,
}: {
  store: StoreCalls
  clock: () => number
  newId: () => string
  traced?: Traced | undefined
}): Engine {
  const listeners = new Set<RecordedListener>()
  const tell = (appended: Appended) => {
    if (!appended.replayed) for (const listener of listeners) notify(listener, appended.events)
    return appended
  }
  return {
    store: withLineage(store),
    clock,
    newId,
    traced,
    execute({ project, actor, channel, requestId }, { conversation, session, decide, options = {}, asked }) {
      const invalid = invalidOption(options)
      if (invalid) return Promise.reject(new InvalidInput(...invalid))
      const { idempotencyKey, expectedVersion = 'any', fence } = options
      const proposal: Proposal = {
        project,
        conversation,
        expected: expectedVersion,
        decide(heads) {
          const events = decide(heads, clock())
          checkTextLimits(events, heads)
          return events
        },
        origin: requestId === undefined ? { actor, channel } : { actor, channel, requestId },
      }
      if (session) proposal.session = session
      if (idempotencyKey !== undefined) {
        const once = onceFor(idempotencyKey, asked)
        if (once instanceof InvalidInput) return Promise.reject(once)
        proposal.once = once
      }
      if (fence) proposal.fence = fence
      const asAsked = traced ? tracedAppend(store, proposal, traced) : store.append(proposal)
      const appending =
        idempotencyKey === undefined ? asAsked : asAsked.then(done => sameCall(done, proposal, idempotencyKey))
      return listeners.size === 0 ? appending : appending.then(tell)
    },
    onRecorded(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/**
 * Checks the options of a write. Called by code that does something else before it writes, so that a refusal leaves
 * nothing half done.
 *
 * @throws {InvalidInput} naming the option
 */
export function checkWrite(options: WriteOptions = {}): void {
  const invalid = invalidOption(options)
  if (invalid) throw new InvalidInput(...invalid)
  const problem = options.idempotencyKey === undefined ? undefined : idProblem(options.idempotencyKey)
  if (problem) throw new InvalidInput('idempotencyKey', problem)
}

/**
 * Returns the first invalid option and what is wrong with it. Has no schema, because every append runs it. Unknown names
 * are refused too: with a misspelt `idempotencyKey`, a retry would write twice.
 */
function invalidOption(options: WriteOptions): [field: string, problem: string] | undefined {
  if (typeof options !== 'object' || options === null) return ['write', 'must be an object such as { idempotencyKey }']
  for (const name in options) {
    if (name !== 'idempotencyKey' && name !== 'expectedVersion' && name !== 'fence')
      return [name, 'unknown write option; use idempotencyKey, expectedVersion or fence']
  }
  const { idempotencyKey, expectedVersion, fence } = options
  if (idempotencyKey !== undefined && typeof idempotencyKey !== 'string') return ['idempotencyKey', 'must be a text']
  if (expectedVersion !== undefined && !(Number.isInteger(expectedVersion) && expectedVersion >= 0))
    return ['expectedVersion', 'must be a version: a whole number, 0 or more']
  const isFence = typeof fence?.name === 'string' && Number.isInteger(fence.generation)
  return fence === undefined || isFence ? undefined : ['fence', 'must be what a claim or a lease gave']
}

/**
 * Refuses a replayed result that is about another session or conversation than this call. Stores compare the digests of
 * calls, but an erase wipes that of its message. Then only the key and what it is about can be compared.
 *
 * @throws {KeyReused} when what was recorded is about another session or conversation
 */
function sameCall(appended: Appended, { conversation, session }: Proposal, key: string): Appended {
  if (!appended.replayed) return appended
  const isOther = (asked: string, recorded: string | undefined) => recorded !== undefined && recorded !== asked
  const isOtherSession = session && (!appended.session || ('id' in session && isOther(session.id, appended.session.id)))
  const isOtherConversation =
    conversation !== 'of-session' && !conversation.workItem && isOther(conversation.id, appended.conversation?.info.id)
  if (isOtherSession || isOtherConversation) throw new KeyReused(key)
  return appended
}

/** Calls a listener. A failure of the listener becomes a warning of the process. */
function notify(listener: (events: readonly RecordedEvent[]) => unknown, events: readonly RecordedEvent[]): void {
  try {
    const result = listener(events)
    if (result instanceof Promise) result.catch(warn)
  } catch (error) {
    warn(error)
  }
}

function warn(error: unknown): void {
  const what = error instanceof Error ? error.message : String(error)
  process.emitWarning(`A listener of onRecorded failed: ${what}. The events are recorded.`, {
    type: 'ColloquyWarning',
    code: 'COLLOQUY_LISTENER',
    ...(error instanceof Error && error.stack !== undefined && { detail: error.stack }),
  })
}

function tracedAppend(store: StoreCalls, proposal: Proposal, traced: Traced): Promise<Appended> {
  const { project, origin } = proposal
  const attributes = { 'colloquy.project': project, 'colloquy.actor': origin.actor, 'colloquy.channel': origin.channel }
  return traced('colloquy.append', attributes, async note => {
    const appended = await store.append(proposal)
    const { conversation, events, replayed } = appended
    note({ 'colloquy.events': events.length, 'colloquy.replayed': replayed })
    if (conversation) {
      note({ 'colloquy.conversation': conversation.info.id, 'colloquy.version': conversation.version })
    }
    return appended
  })
}

/** Returns the key and the digest of a call. The order of object keys does not matter: a retry may build them otherwise. */
function onceFor(key: string, asked: readonly unknown[]): Once | InvalidInput {
  try {
    return { key, digest: digestOf(JSON.stringify(asked, inOneOrder)) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return new InvalidInput(
      'idempotencyKey',
      `needs arguments that can be written as JSON. Nothing was written: ${why}`,
    )
  }
}

function inOneOrder(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Returns an optional argument as a list to spread into `asked`; empty when it was not given. */
export function given(argument: unknown): unknown[] {
  return argument === undefined ? [] : [argument]
}
