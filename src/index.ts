/** The front door: open a store, and the nouns that go in and out of it. */

export type { CompactOutcome } from './agent/compact.ts'
export type { LiveFilter, LivePart, LiveUpdate } from './agent/live.ts'
export type { RunResult } from './agent/run.ts'
export { type Tool, type ToolCall, type ToolLimits, type ToolOutput, ToolRefused, tool } from './agent/tools/tool.ts'
export type { DelegationResult, NewDelegation } from './commands/delegation.ts'
export { defaultLoopSettings, type LoopSettings } from './commands/loops.ts'
export { MessageInput } from './commands/message-input.ts'
export type { PhaseTransition } from './commands/phase.ts'
export { defaultPhases, PhaseSet, type PhaseSetting } from './commands/phase-set.ts'
export { NewTask, PlanChanges, TaskChange } from './commands/plan.ts'
export { SessionOptions } from './commands/session-options.ts'
export type { NewTurn, TurnCompletion } from './commands/turn.ts'
export {
  Attempt,
  BeadChanges,
  FeatureChanges,
  Move,
  NewBead,
  NewFeature,
  NewWorktree,
  Report,
} from './commands/work.ts'
export type { CheckpointDiff } from './compaction/diff.ts'
export type { ContextInputs } from './context/gather.ts'
export type { ReferenceResolver, Resolved, ResolverOptions } from './context/resolver.ts'
export type { RecordedListener, Scope, WriteOptions } from './engine.ts'
export * from './errors.ts'
export { Audience } from './events/audience.ts'
export { Checkpoint, type CheckpointItem, type CheckpointSection } from './events/checkpoint.ts'
export { ContextLimits, SessionContext } from './events/context.ts'
export { AgentDescription } from './events/description.ts'
export {
  ConversationEvent,
  type DamagedEvent,
  type ErasedEvent,
  type StoredEvent,
  type UnknownEvent,
} from './events/event.ts'
export { type MessageAdded, Role, type TokenCount, Usage } from './events/message.ts'
export type { Metadata } from './events/metadata.ts'
export { Part } from './events/part.ts'
export { isOfType, type Origin, type RecordedEvent } from './events/recorded.ts'
export type { Reference } from './events/reference.ts'
export type { Sharing } from './events/session.ts'
export { Strategy } from './events/strategy.ts'
export { AttemptOutcome, BeadState, FeatureState, PlannedTask, TaskState, WorkBy } from './events/work.ts'
export { WorkItem } from './events/work-item.ts'
export type { Accounts, AuditEntry, AuditQuery, ProjectSpending, Spending } from './log/accounts.ts'
export type { ArchivePlace } from './log/archive-place.ts'
export type { CopyPhase } from './log/copy-project.ts'
export type { ConversationQuery, DamagedConversation, Directory, Listed, ProjectTotals } from './log/directory.ts'
export type { Appended, EventLog, EventRange, Proposal, SubscribeOptions } from './log/event-log.ts'
export type { LaneSums } from './log/lane.ts'
export type { Lease, Leases } from './log/leases.ts'
export type { LivingNode, NodeFacts, Nodes } from './log/nodes.ts'
export type { Search, SearchedConversations, SearchHit, SearchQuery, TitleHit, TitleQuery } from './log/search.ts'
export type { Store, StoreOptions, WriteQueue } from './log/store.ts'
export type {
  Damage,
  Erased,
  Progress,
  Purged,
  RepairedHead,
  RepairReport,
  Upkeep,
  VerifyReport,
} from './log/upkeep.ts'
export { isVisible, type Viewer } from './log/visibility.ts'
export type { Windows } from './log/windows.ts'
export { AgentManager } from './managers/agent-manager.ts'
export type { AgentRequest } from './managers/agent-request.ts'
export type { AgentSettings, AgentSettingsInput } from './managers/agent-settings.ts'
export type { AgentReference, AgentView, AgentViewOptions, Claim } from './managers/agent-views.ts'
export type { Bead, BeadMove, BeadSummary } from './managers/beads.ts'
export type { BranchOptions, Comparison, Since } from './managers/branches.ts'
export type { Approvals, BuildSettingsInput } from './managers/build-settings.ts'
export type { Colloquy, Queues } from './managers/colloquy.ts'
export { Configuration } from './managers/configuration.ts'
export type { Conversation } from './managers/conversation.ts'
export {
  ConversationManager,
  type NewConversationInput,
  type SearchResult,
} from './managers/conversation-manager.ts'
export type { Delegation } from './managers/delegations.ts'
export {
  DispatchManager,
  type DispatchOptions,
  type DispatchUnderWay,
  type ParkedItem,
} from './managers/dispatch-manager.ts'
export type { DispatchSettings, DispatchSettingsInput } from './managers/dispatch-settings.ts'
export type { ErasedMessage } from './managers/erase-message.ts'
export type { Execution, ExecutionTime } from './managers/execution-time.ts'
export type { Feature, FeatureSummary, WorkPage } from './managers/features.ts'
export type { MessagePage } from './managers/long-reads.ts'
export { type OpenOptions, openColloquy } from './managers/open.ts'
export type { OrchestrateOptions } from './managers/orchestrations.ts'
export type { PastConversation, PastRequest, ReplayStep } from './managers/past.ts'
export type { CurrentPhase, PhaseChange } from './managers/phases.ts'
export type { ProjectFeatures, ProjectOptions } from './managers/project-settings.ts'
export type { Question } from './managers/questions.ts'
export { type ReadConfiguration, readConfiguration } from './managers/read-configuration.ts'
export type { WritePermission } from './managers/read-files.ts'
export type { ReadyItem, ReadyQuery } from './managers/ready-work.ts'
export type { ReferenceSettings } from './managers/reference-settings.ts'
export type { UnresolvedReference } from './managers/references.ts'
export { defaultRequestSettings, type RequestOptions, type RequestSettings } from './managers/request-settings.ts'
export type { RunOptions, RunTarget, StartedRun } from './managers/run-options.ts'
export type { RunningRun } from './managers/running-runs.ts'
export type { Session, SessionStats } from './managers/session.ts'
export type { FoundItem } from './managers/session-checkpoints.ts'
export type { ListSessions } from './managers/session-list.ts'
export { type SessionLinks, SessionManager } from './managers/session-manager.ts'
export type { SessionMetrics } from './managers/session-metrics.ts'
export type { CompactOptions } from './managers/session-requests.ts'
export type { ArchiveSettings, Settings, SettingsInput } from './managers/settings.ts'
export {
  type CopiedAndVerified,
  type CopiedProject,
  type CopyStoreOptions,
  copyStore,
  migrateStore,
  type StoreStatus,
  storeStatus,
} from './managers/stores.ts'
export type { Swept } from './managers/sweep.ts'
export type { Task, TaskGraph, TaskMove, TaskNode } from './managers/tasks.ts'
export { type TaskStatus, TeamManager, type TeamStatus } from './managers/team-manager.ts'
export type { TeamOptions } from './managers/team-parts.ts'
export type { TeamResult } from './managers/team-run.ts'
export type { TeamSettingsInput, TurnSettings } from './managers/team-settings.ts'
export type { Completion, OrchestratorRoutingContext, RoutingEntry, Turn } from './managers/turns.ts'
export type { UpdatesOptions } from './managers/updates.ts'
export type { TotalsPage, UsageTotals } from './managers/usage-totals.ts'
export { type WorkItemState, WorkManager } from './managers/work-manager.ts'
export type {
  Model,
  ModelFailure,
  ModelFailureKind,
  ModelPart,
  ModelPriority,
  ModelRequest,
  ModelTool,
} from './models/model.ts'
export { type ModelQueue, type ModelSettings, openModel } from './models/open.ts'
export { type ProviderTokensOptions, providerTokens } from './models/provider-tokens.ts'
export { isProvidersModel } from './models/providers.ts'
export type { Fate, Ledger, LedgerEntry } from './request/ledger.ts'
export type { RequestMessage, RequestPart } from './request/message.ts'
export type { ModelLimits } from './request/models.ts'
export { fastEstimator, type TokenEstimator } from './request/tokens.ts'
export type { Span, SpanAttributes, Tracer } from './tracing.ts'
export {
  type ConversationHead,
  type ConversationInfo,
  type ConversationStatus,
  evolveConversation,
} from './views/conversation.ts'
export type { DelegationState } from './views/delegations.ts'
export type { DispatchesState } from './views/dispatches.ts'
export type { Message } from './views/message.ts'
export type { PhaseState } from './views/phase.ts'
export type { QuestionState } from './views/questions.ts'
export type { LandingState, RalphState, ReviewState } from './views/ralph.ts'
export type { RunsState } from './views/runs.ts'
export { evolveSession, type SessionHead, type SessionStatus, sessionOf } from './views/session.ts'
export { cycleIn, dagSummary, dependentsOf, layersOf, readyTasks } from './views/task-graph.ts'
export type { TeamState } from './views/team.ts'
export type { OpenTurn, PastTurn, TurnsState } from './views/turns.ts'
export type {
  CompactionUpdated,
  ConversationUpdated,
  SessionUpdated,
  Update,
  UpdateNamed,
  WorkUpdated,
} from './views/update.ts'
export type {
  BeadWork,
  FeatureWork,
  GraphTask,
  TaskWork,
  WorkAttempts,
  WorkMove,
  WorkResult,
  WorkState,
  Worktree,
} from './views/work.ts'
export { agentFor, legalMoves, type WorkType, workStates } from './views/work-moves.ts'
export type { DispatchCounts, Dispatcher, DispatchStatus, DispatchUpdate } from './work/dispatcher.ts'
export { defaultGuards, type GuardSettings } from './work/guards.ts'
export type { FoundLoop, OrchestrationResult } from './work/orchestrator.ts'
export type { TeamProgress } from './work/progress.ts'
export type { TeamOutcome } from './work/team.ts'
export type { DispatchedItem, Job, WorkDone, Worker } from './work/worker.ts'
