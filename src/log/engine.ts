/**
 * Read, decide, append, publish. The only writer of the log.
 *
 * A decision runs inside the store's write, on the heads as they are then, so nothing can come between looking and
 * recording. Publishing is the log's own subscription: what was appended is what subscribers get.
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
  /** By id, by work item (made under `id` if there is none), or the one the session is on. */
  conversation: { id: string; workItem?: WorkItem } | 'of-session'
  session?: { id: string } | { key: string }
  decide: Decision
  options?: WriteOptions | undefined
  /**
   * The method, its target and every argument as given, to tell a repeated call from another one under the same key.
   * Absent arguments stay absent, so that arguments may be added later.
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
 * For who does something before the write itself: what is refused after it would be half done.
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
 * The option that cannot be, and why. By hand: every append comes by here. Unknown names too: a write without the key that
 * was meant would be done twice.
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
 * After an erase a key alone tells its call, so another one under it is known only by what it is about.
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

/** The order of keys in the arguments does not matter: a repeated call may build its objects in another order. */
function onceFor(key: string, asked: readonly unknown[]): Once | InvalidInput {
  try {
    const asGiven = JSON.stringify(asked)
    const text = JSON.stringify(asked, inOneOrder)
    const digest = digestOf(text)
    return text === asGiven ? { key, digest } : { key, digest, earlierDigest: digestOf(asGiven) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return new InvalidInput('idempotencyKey', `stands for what can be written as JSON, and this call cannot: ${why}`)
  }
}

function inOneOrder(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** An argument that may be left out, for what was asked. */
export function given(argument: unknown): unknown[] {
  return argument === undefined ? [] : [argument]
}
