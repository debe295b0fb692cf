/** Orchestrator turns: started under a lease, completed agent by agent, read back turn by turn. */

import { RoutingBlocked } from '../../errors.ts'
import { parseInput } from '../../log/commands/input.ts'
import * as command from '../../log/commands/turn.ts'
import { numbersIn } from '../../log/cursor.ts'
import type { Listed } from '../../log/directory.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { Appended } from '../../log/event-log.ts'
import { isOfType, type RecordedEvent } from '../../log/events/recorded-event.ts'
import type { TurnResolved, TurnStarted, TurnUndone } from '../../log/events/turn.ts'
import type { ConversationInfo } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import { everything } from '../../log/visibility.ts'
import type { Window } from '../../log/windows.ts'
import type { ConversationAccess } from '../access/conversation-access.ts'
import { checkAsked } from '../access/input-schemas.ts'
import type { TeamSettings } from './team-settings.ts'
import type { Completion, OrchestratorRoutingContext, RoutingEntry, Turn } from './turn-views.ts'

const pageSize = 50
/** Max pages that are read for a person's message before the first turn. */
const maxPages = 20

export class Turns {
  readonly #access: ConversationAccess
  readonly #settings: TeamSettings

  constructor(access: ConversationAccess, settings: TeamSettings) {
    this.#access = access
    this.#settings = settings
  }

  async start(conversationId: string, input: command.NewTurn, options: WriteOptions = {}): Promise<Turn> {
    const { phases, turns } = this.#settings
    const turn = parseInput(command.NewTurn, input)
    const { info } = await this.#access.head(conversationId)
    const orchestrator = turn.orchestrator ?? this.#access.scope.actor
    const fence = options.fence ?? (await this.#claim(conversationId, orchestrator))
    const decide = command.startTurn(conversationId, {
      turnId: this.#access.engine.newId(),
      turn: { ...turn, orchestrator, timeoutMs: turn.timeoutMs === undefined ? turns.timeoutMs : turn.timeoutMs },
      request: await this.#newestRequest(info),
      phases,
      loops: turns.loops === 'off' ? undefined : turns.loops,
    })
    const asked = ['startOrchestratorTurn', conversationId, input]
    const appended = await this.#access.execute(conversationId, { decide, asked, options: { ...options, fence } })
    const { events } = appended
    const loop = events.find(recorded => isOfType(recorded, 'loop.detected'))
    if (loop) {
      const { kind, finding, evidence } = loop.event
      throw new RoutingBlocked({ conversationId, kind, finding, evidence, since: loop.version })
    }
    const started = events.find(recorded => isOfType(recorded, 'turn.started'))
    return appended.replayed ? this.#changed(conversationId, appended) : turnOf(started!, [], 'open')
  }

  /**
   * The lease of the routing orchestrator. It is kept until it runs out, so that another orchestrator is refused
   * meanwhile.
   */
  async #claim(conversationId: string, holder: string) {
    const { engine, scope } = this.#access
    const { name, generation } = await engine.store.claim({
      project: scope.project,
      name: `routing ${conversationId}`,
      holder,
      forMs: this.#settings.turns.leaseMs,
    })
    return { name, generation }
  }

  /** Lets another orchestrator route before the lease runs out. */
  async release(conversationId: string, orchestrator = this.#access.scope.actor): Promise<void> {
    const { store } = this.#access.engine
    const { project } = this.#access.scope
    const lease = await store.holderOf({ project, name: `routing ${conversationId}` })
    if (lease?.holder === orchestrator) await store.release({ project, name: lease.name, generation: lease.generation })
  }

  async complete(
    conversationId: string,
    completion: command.TurnCompletion,
    options: WriteOptions | undefined,
  ): Promise<Turn> {
    const checked = parseInput(command.TurnCompletion, completion)
    const decide = command.completeTurn(conversationId, checked)
    const asked = ['addCompletionToTurn', conversationId, completion]
    const appended = await this.#access.execute(conversationId, { decide, asked, options })
    return this.#changed(conversationId, appended, checked.turnId)
  }

  async fail(conversationId: string, reason: string, options: WriteOptions | undefined): Promise<Turn> {
    checkAsked('reason', { reason })
    const decide = command.failTurn(conversationId, reason)
    const asked = ['failTurn', conversationId, reason]
    return this.#changed(conversationId, await this.#access.execute(conversationId, { decide, asked, options }))
  }

  async undo(
    conversationId: string,
    which: { turnId?: string; reason?: string },
    options: WriteOptions | undefined,
  ): Promise<Turn> {
    checkAsked('undone', which)
    const decide = command.undoTurn(conversationId, this.#settings.phases, which)
    const asked = ['undoTurn', conversationId, which]
    return this.#changed(
      conversationId,
      await this.#access.execute(conversationId, { decide, asked, options }),
      which.turnId,
    )
  }

  async clearLoop(
    conversationId: string,
    reason: string | undefined,
    options: WriteOptions | undefined,
  ): Promise<void> {
    checkAsked('reason', { reason })
    const decide = command.clearLoop(conversationId, reason)
    await this.#access.execute(conversationId, { decide, asked: ['clearLoop', conversationId, reason], options })
  }

  async timeOut(conversationId: string, options: WriteOptions | undefined): Promise<boolean> {
    const decide = command.timeOutTurn()
    const { events } = await this.#access.execute(conversationId, { decide, asked: [], options })
    return events.length > 0
  }

  /** Newest first, the open one before all. A page costs the same however many there were. */
  async list(conversationId: string, page: { limit?: number; cursor?: string }): Promise<Listed<Turn>> {
    checkAsked('turns', page)
    const { info } = await this.#access.head(conversationId)
    const { limit = 20, cursor } = page
    const items: Turn[] = []
    const open = cursor === undefined ? await this.#open(info) : undefined
    if (open) items.push(open)
    let at = cursor === undefined ? info.turns?.closedAt : numbersIn(cursor, 1)[0]
    while (at !== undefined && items.length < limit) {
      const closed = await this.#closed(conversationId, at)
      if (!closed) return { items }
      items.push(closed.turn)
      at = closed.previous
    }
    return { items, ...(at !== undefined && { next: String(at) }) }
  }

  /** The input of an orchestrator, without undone turns. */
  async routingContext(conversationId: string, options: { limit?: number }): Promise<OrchestratorRoutingContext> {
    checkAsked('routing', options)
    const { limit = 20 } = options
    const { info } = await this.#access.head(conversationId)
    const history: RoutingEntry[] = []
    for (let at = info.turns?.closedAt; at !== undefined && history.length < limit; ) {
      const closed = await this.#closed(conversationId, at)
      if (closed && closed.turn.status !== 'undone') history.unshift(entryOf(closed.turn))
      at = closed?.previous
    }
    const open = await this.#open(info)
    return {
      user_request: (await this.#firstRequest(info))?.content ?? '',
      routing_history: history,
      current_routing: open ? entryOf(open) : null,
    }
  }

  // Reading turns back

  async #changed(conversationId: string, { events }: Appended, turnId?: string): Promise<Turn> {
    const { info } = await this.#access.head(conversationId)
    const about = events.map(({ event }) => ('turnId' in event ? event.turnId : undefined)).find(Boolean) ?? turnId
    const { open, recent = [], closedAt } = info.turns ?? {}
    if (open && (about === undefined || about === open.id)) return (await this.#open(info))!
    let at = recent.find(turn => turn.id === about)?.closedAt ?? closedAt
    // Only a repeated call can be about a turn that is not among the newest.
    for (;;) {
      const { turn, previous } = (await this.#closed(conversationId, at!))!
      if (about === undefined || turn.id === about || previous === undefined) return turn
      at = previous
    }
  }

  async #open(info: ConversationInfo): Promise<Turn | undefined> {
    const open = info.turns?.open
    if (!open) return undefined
    const started = await this.#access.eventAt(info.id, open.version)
    if (!started || !isOfType(started, 'turn.started')) return undefined
    const completions = await this.#completions(
      info.id,
      open.completions.map(one => one.version),
    )
    return turnOf(started, completions, 'open')
  }

  /** The turn that the event at `version` closed, and where the one before was closed. */
  async #closed(conversationId: string, version: number): Promise<{ turn: Turn; previous?: number } | undefined> {
    const recorded = await this.#access.eventAt(conversationId, version)
    const event = recorded?.event
    if (event?.type !== 'turn.resolved' && event?.type !== 'turn.undone') return undefined
    const started = await this.#access.eventAt(conversationId, event.started)
    if (!started || !isOfType(started, 'turn.started')) return undefined
    const completions = await this.#completions(conversationId, event.completions)
    const status = event.type === 'turn.undone' ? 'undone' : event.outcome
    const turn = turnOf(started, completions, status, event.reason)
    const previous = await this.#beforeThe(conversationId, event)
    return { turn, ...(previous !== undefined && { previous }) }
  }

  /** A turn that was resolved first and undone then is one turn: its resolution is skipped. */
  async #beforeThe(conversationId: string, event: TurnResolved | TurnUndone): Promise<number | undefined> {
    if (event.type !== 'turn.undone' || event.previous === undefined) return event.previous
    const before = (await this.#access.eventAt(conversationId, event.previous))?.event
    return before?.type === 'turn.resolved' && before.turnId === event.turnId ? before.previous : event.previous
  }

  async #completions(conversationId: string, versions: readonly number[]): Promise<Completion[]> {
    const found = await Promise.all(versions.map(version => this.#completion(conversationId, version)))
    return found.filter(completion => completion !== undefined)
  }

  async #completion(conversationId: string, version: number): Promise<Completion | undefined> {
    const recorded = await this.#access.eventAt(conversationId, version)
    if (!recorded || !isOfType(recorded, 'completion.recorded')) return undefined
    const { type: _, turnId: __, print: ___, ...completion } = recorded.event
    const { message = await this.#saidAt(conversationId, completion.found) } = completion
    return { ...completion, message, version, at: recorded.at }
  }

  async #saidAt(conversationId: string, version: number | undefined): Promise<string> {
    const event = version === undefined ? undefined : (await this.#access.eventAt(conversationId, version))?.event
    if (event?.type === 'message.added') return command.completionText(event) ?? ''
    return event ? `(${event.type})` : ''
  }

  // A person's requests

  /** Version of the person's newest message since the last turn. */
  async #newestRequest(info: ConversationInfo): Promise<number | undefined> {
    const { turns } = info
    const last = turns?.recent.at(-1)?.version ?? 0
    let before: number | undefined
    for (let page = 0; page < maxPages || last > 0; page++) {
      const messages = await this.#talk(info, { limit: pageSize, ...(before !== undefined && { before }) })
      const newest = messages.findLast(message => message.role === 'user')
      if (newest && newest.version > last) return newest.version
      if (messages.length < pageSize || messages[0]!.version <= last) break
      before = messages[0]!.version
    }
    return turns?.request
  }

  async #firstRequest(info: ConversationInfo): Promise<Message | undefined> {
    let after = 0
    for (let page = 0; page < maxPages; page++) {
      const messages = await this.#talk(info, { limit: page === 0 ? 5 : pageSize, after })
      const first = messages.find(message => message.role === 'user' && !message.missing)
      if (first || messages.length === 0) return first
      after = messages.at(-1)!.version
    }
    return undefined
  }

  #talk(
    { id: conversationId, branchOf }: ConversationInfo,
    page: { limit: number; before?: number; after?: number },
  ): Promise<Message[]> {
    const { engine, scope } = this.#access
    const whole: Window = {
      project: scope.project,
      conversationId,
      viewer: everything,
      kinds: ['talk'],
      start: 0,
      kept: [],
      ...(branchOf && { branchOf }),
    }
    return engine.store.messages(whole, page)
  }
}

function turnOf(
  { event, version, at }: RecordedEvent<TurnStarted>,
  completions: Completion[],
  status: Turn['status'],
  endReason?: string,
): Turn {
  const { type: _, turnId, movedFrom: __, ...rest } = event
  return {
    id: turnId,
    ...rest,
    version,
    startedAt: at,
    status,
    completions,
    missing: rest.agents.filter(agent => !completions.some(one => one.agent === agent)),
    ...(endReason !== undefined && { endReason }),
  }
}

function entryOf({ phase, agents, reason, startedAt, completions, status }: Turn): RoutingEntry {
  return {
    ...(phase !== undefined && { phase }),
    agents,
    reason,
    timestamp: startedAt,
    completions: completions.map(({ agent, message, at, outcome }) => ({
      agent,
      message,
      timestamp: at,
      ...(outcome === 'failed' && { failed: true as const }),
    })),
    ...(status !== 'open' && status !== 'undone' && { outcome: status }),
  }
}
