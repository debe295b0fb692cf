/** The part of the conversation manager for teams: phases, turns, delegations, files read, time at work. Thin. */
import type { DelegationResult, NewDelegation } from '../../log/commands/delegation.ts'
import type { PhaseTransition } from '../../log/commands/phase.ts'
import type { NewTurn, TurnCompletion } from '../../log/commands/turn.ts'
import type { Listed } from '../../log/directory.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { ReadFiles } from '../../log/views/read-files.ts'
import { type Conversation, shown } from '../access/conversation.ts'
import type { WritePermission } from '../turns/read-files.ts'
import type { Team } from '../turns/team-parts.ts'
import type {
  CurrentPhase,
  Delegation,
  Execution,
  ExecutionTime,
  OrchestratorRoutingContext,
  PhaseChange,
  Turn,
} from '../turns/turn-views.ts'

export abstract class TeamConversations {
  readonly #team: Team

  constructor(team: Team) {
    this.#team = team
  }

  // Phases

  /** The phase it is in, the newest hand-over, and where it may go. */
  getPhase(conversationId: string): Promise<CurrentPhase> {
    return this.#team.phases.current(conversationId)
  }

  /**
   * Moves the conversation to another phase. To the one it is in already records nothing.
   *
   * @throws {PhaseRefused} when the project does not allow it, or it is not in `expectedPhase`
   */
  async transitionPhase(
    conversationId: string,
    transition: PhaseTransition,
    write?: WriteOptions,
  ): Promise<Conversation> {
    return shown(await this.#team.phases.transition(conversationId, transition, write))
  }

  /** Its transitions, newest first. */
  getPhaseHistory(
    conversationId: string,
    page: { limit?: number; cursor?: string } = {},
  ): Promise<Listed<PhaseChange>> {
    return this.#team.phases.history(conversationId, page)
  }

  // Orchestrator turns

  /**
   * Routes to agents and waits for their completions. One orchestrator at a time, one turn at a time.
   *
   * @throws {LeaseHeld} when another orchestrator routes here
   * @throws {TurnOpen} when a turn still waits
   * @throws {RoutingBlocked} when routing goes in circles; recorded as `loop.detected`
   */
  startOrchestratorTurn(conversationId: string, turn: NewTurn, write?: WriteOptions): Promise<Turn> {
    return this.#team.turns.start(conversationId, turn, write)
  }

  /**
   * An agent is done. Once per agent: the same again changes nothing. A `complete` tool call in an agent's message does
   * the same by itself.
   *
   * @throws {IllegalState} when no turn waits for the agent
   */
  addCompletionToTurn(conversationId: string, completion: TurnCompletion, write?: WriteOptions): Promise<Turn> {
    return this.#team.turns.complete(conversationId, completion, write)
  }

  /** Ends the open turn without waiting for the rest. */
  failTurn(conversationId: string, reason: string, write?: WriteOptions): Promise<Turn> {
    return this.#team.turns.fail(conversationId, reason, write)
  }

  /** Takes the newest routing decision back, and the phase it moved to. */
  undoTurn(
    conversationId: string,
    which: { turnId?: string; reason?: string } = {},
    write?: WriteOptions,
  ): Promise<Turn> {
    return this.#team.turns.undo(conversationId, which, write)
  }

  /** Newest first, the open one before all. */
  getTurns(conversationId: string, page: { limit?: number; cursor?: string } = {}): Promise<Listed<Turn>> {
    return this.#team.turns.list(conversationId, page)
  }

  /** The input of an orchestrator: the person's request, the newest `limit` turns, the open turn. */
  buildOrchestratorRoutingContext(
    conversationId: string,
    options: { limit?: number } = {},
  ): Promise<OrchestratorRoutingContext> {
    return this.#team.turns.routingContext(conversationId, options)
  }

  /** Lets routing go on after a loop. What was seen so far is no evidence any more. */
  clearLoop(conversationId: string, reason?: string, write?: WriteOptions): Promise<void> {
    return this.#team.turns.clearLoop(conversationId, reason, write)
  }

  /** Lets another orchestrator route before the lease of this one runs out. */
  releaseRouting(conversationId: string, orchestrator?: string): Promise<void> {
    return this.#team.turns.release(conversationId, orchestrator)
  }

  // Delegations

  /** Hands work to another agent, in a conversation of its own that knows where it comes from. */
  delegate(conversationId: string, delegation: NewDelegation, write?: WriteOptions): Promise<Delegation> {
    return this.#team.delegations.delegate(conversationId, delegation, write)
  }

  /** Ends delegated work, well or badly; called with the conversation it was done in. Recorded in both, once. */
  completeDelegation(childId: string, result: DelegationResult, write?: WriteOptions): Promise<Delegation> {
    return this.#team.delegations.end(childId, result, write)
  }

  /** Called with the conversation that delegated. */
  abortDelegation(
    conversationId: string,
    delegationId: string,
    reason: string,
    write?: WriteOptions,
  ): Promise<Delegation> {
    return this.#team.delegations.abort(conversationId, delegationId, reason, write)
  }

  /** The pending ones and the newest that ended, oldest first. */
  getDelegations(conversationId: string): Promise<Delegation[]> {
    return this.#team.delegations.list(conversationId)
  }

  // Files read

  /**
   * An agent read a file of the project. Gives the path as it is kept: from the root, links resolved.
   *
   * @throws {PathRefused} when it leads out of the project
   */
  recordReadFile(conversationId: string, read: { agent: string; path: string }, write?: WriteOptions): Promise<string> {
    return this.#team.files.record(conversationId, read, write)
  }

  /** Paths by agent. */
  getReadFiles(conversationId: string): Promise<ReadFiles> {
    return this.#team.files.list(conversationId)
  }

  /** Allows an agent to write a file that is new or that it has read, and gives the reason. */
  mayWrite(conversationId: string, agent: string, path: string): Promise<WritePermission> {
    return this.#team.files.mayWrite(conversationId, agent, path)
  }

  // Time at work

  /** @throws {LeaseHeld} when the agent is at work already */
  startExecution(conversationId: string, agent: string, write?: WriteOptions): Promise<Execution> {
    return this.#team.executions.start(conversationId, agent, write)
  }

  /** Ends an agent's time at work. */
  stopExecution(
    conversationId: string,
    which: { agent: string; executionId?: string },
    write?: WriteOptions,
  ): Promise<ExecutionTime> {
    return this.#team.executions.stop(conversationId, which, write)
  }

  /** Time that agents were at work, across restarts. A crashed execution ends at its last recorded event. */
  getExecutionTime(conversationId: string): Promise<ExecutionTime> {
    return this.#team.executions.time(conversationId)
  }
}
