/** The `Colloquy` interface: the managers of a project, and calls about the whole project or store. */

import type { AgentManager } from '../agents/runs/agent-manager.ts'
import type { DispatchManager } from '../agents/scheduling/dispatch-manager.ts'
import type { OrchestrateOptions } from '../agents/scheduling/orchestration.ts'
import type { OrchestrationResult } from '../agents/scheduling/orchestrator.ts'
import type { TeamProject } from '../agents/team-access.ts'
import type { UpdatesOptions } from '../conversation/access/updates.ts'
import type { ConversationManager } from '../conversation/lifecycle/conversation-manager.ts'
import type { SessionManager } from '../conversation/sessions/session-manager.ts'
import type { WorkManager } from '../conversation/work/work-manager.ts'
import type { AuditEntry, AuditQuery } from '../log/accounts.ts'
import type { Listed, ProjectTotals } from '../log/directory.ts'
import type { RecordedListener, Scope } from '../log/engine.ts'
import type { Nodes } from '../log/nodes.ts'
import type { WriteQueue } from '../log/store.ts'
import type { Progress, RepairReport, VerifyReport } from '../log/upkeep.ts'
import type { Update, UpdateNamed } from '../log/views/update.ts'
import type { ModelQueue } from '../models/open.ts'
import type { ProjectOptions } from './configuration/options.ts'
import type { Swept } from './sweep.ts'
import type { Totals, TotalsPage } from './totals.ts'

export interface Queues {
  writes: WriteQueue
  models: ModelQueue[]
  live: { readers: number; characters: number }
  /** Runs under way in this process. */
  runs: number
}

export interface Colloquy extends TeamProject {
  readonly project: string
  /** The project's folder, if it has one. */
  readonly root: string | undefined
  readonly sessions: SessionManager
  readonly conversations: ConversationManager
  readonly agents: AgentManager
  readonly work: WorkManager
  readonly dispatcher: DispatchManager
  /**
   * Runs the orchestrator on a conversation until nothing is left to do. It chooses the agents, runs them, and waits for
   * them. Only one process routes a conversation at a time.
   *
   * @throws {ModelMissing} when no model is named for the orchestrator
   */
  orchestrate(conversationId: string, options?: OrchestrateOptions): Promise<OrchestrationResult>
  /**
   * Calls the listener after each commit of this process, in any project. Meant for metrics: use `subscribe` to miss
   * nothing. An error of the listener becomes a warning of the process (`COLLOQUY_LISTENER`) and fails no write. Returns a
   * function that removes the listener.
   */
  onRecorded(listener: RecordedListener): () => void
  /**
   * Iterates over every update of the project once, in order, resumable by position. Subscribers share the objects: do not
   * change them. Waiting for the next update keeps the process alive; leaving the loop, the signal or `close` ends that.
   */
  subscribe<Name extends Update['name'] = Update['name']>(
    options?: UpdatesOptions<Name>,
  ): AsyncIterableIterator<UpdateNamed<Name>>
  /** Checks every hash, folds every head again, and reports each damaged record. Changes nothing. */
  verify(options?: { onProgress?: Progress; allProjects?: boolean }): Promise<VerifyReport>
  /**
   * Repairs rows derived from the log: heads that differ from it and the full-text index. The log stays unchanged.
   *
   * @throws {StoreUnusable} when the store derives nothing from its log
   */
  repair(options?: { onProgress?: Progress; allProjects?: boolean }): Promise<RepairReport>
  /** Counts sessions, conversations and messages of the project. */
  stats(): Promise<ProjectTotals>
  /** Sums tokens and cost by agent, model and conversation, as reported by providers. Conversations come in pages. */
  totals(page?: TotalsPage): Promise<Totals>
  /** Lists the envelopes of the log in pages, newest first: actor, deed, time and channel. */
  audit(query?: Omit<AuditQuery, 'project'>): Promise<Listed<AuditEntry>>
  /** Counts what waits in this process, of all projects: writes, model calls, live text for slow readers. */
  queues(): Queues
  /** The processes that serve this store, of all projects. */
  readonly nodes: Nodes
  /** Runs the maintenance sweep now. */
  maintain(): Promise<Swept>
  /**
   * Returns the same store for another actor, channel or project. `settings` replace those of the project for callers of
   * the returned object.
   */
  as(scope: Partial<Scope>, settings?: ProjectOptions): Colloquy
  /** Lists the projects of the store. */
  projects(): Promise<string[]>
  /** Stops runs, workers and teams of this process, and closes the store. */
  close(): Promise<void>
}
