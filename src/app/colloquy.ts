/** What an open store gives: the managers of a project, and what holds for all of it. */

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
   * Has the orchestrator route on a conversation until there is nothing left to do: it decides who acts, runs them, and
   * waits for them. However many processes try, one routes.
   *
   * @throws {ModelMissing} when no model is named for it
   */
  orchestrate(conversationId: string, options?: OrchestrateOptions): Promise<OrchestrationResult>
  /**
   * Tells of what this process records in any project, right behind each commit, until it is called off: for figures.
   * Whoever must miss nothing subscribes. What a listener throws reaches neither whoever wrote, whose write is durable,
   * nor other listeners: it becomes a warning of the process (`COLLOQUY_LISTENER`).
   */
  onRecorded(listener: RecordedListener): () => void
  /**
   * Every update of the project once, in order, resumable by position. All who subscribe may be handed the same objects:
   * they are for reading. While somebody waits for the next one the process goes on; breaking off, the signal or `close`
   * let it end.
   */
  subscribe<Name extends Update['name'] = Update['name']>(
    options?: UpdatesOptions<Name>,
  ): AsyncIterableIterator<UpdateNamed<Name>>
  /** Checks every hash, refolds every head, reports each damaged record. Changes nothing. */
  verify(options?: { onProgress?: Progress; allProjects?: boolean }): Promise<VerifyReport>
  /**
   * Puts right what is derived from the log: places of messages, heads that differ from it, and the full-text index.
   * Changes nothing in it.
   *
   * @throws {StoreUnusable} when the store has no such thing
   */
  repair(options?: { onProgress?: Progress; allProjects?: boolean }): Promise<RepairReport>
  /** Totals of the project. */
  stats(): Promise<ProjectTotals>
  /** Tokens and cost by agent, model and conversation, as providers reported them; conversations in pages. */
  totals(page?: TotalsPage): Promise<Totals>
  /** Who did what, when and through what: the envelopes of the log, newest first, in pages. */
  audit(query?: Omit<AuditQuery, 'project'>): Promise<Listed<AuditEntry>>
  /** What waits in this process, of all projects: writes for a commit, calls for their model, live words for readers. */
  queues(): Queues
  /** The processes that serve this store, of all projects. */
  readonly nodes: Nodes
  /** Runs the maintenance sweep now. */
  maintain(): Promise<Swept>
  /**
   * The same store as somebody else, through something else, or in another project. `settings` hold there instead of
   * those it was opened with, for whoever uses this object.
   */
  as(scope: Partial<Scope>, settings?: ProjectOptions): Colloquy
  /** The projects this store holds. */
  projects(): Promise<string[]>
  /** Stops what runs in this process, and closes the store. */
  close(): Promise<void>
}
