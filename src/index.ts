/** The front door: open a store, and the nouns that go in and out of it. */

export { AgentManager } from './agents/runs/agent-manager.ts'
export type { AgentSettings, AgentSettingsInput } from './agents/runs/agent-settings.ts'
export type { LiveFilter, LivePart, LiveUpdate } from './agents/runs/live.ts'
export type { RunResult } from './agents/runs/run.ts'
export type { RunOptions, RunTarget, StartedRun } from './agents/runs/run-options.ts'
export type { RunningRun } from './agents/runs/running-runs.ts'
export {
  DispatchManager,
  type DispatchOptions,
  type DispatchUnderWay,
  type ParkedItem,
} from './agents/scheduling/dispatch-manager.ts'
export type { DispatchSettings, DispatchSettingsInput, GuardSettings } from './agents/scheduling/dispatch-settings.ts'
export type { DispatchCounts, Dispatcher, DispatchStatus, DispatchUpdate } from './agents/scheduling/dispatcher.ts'
export type { OrchestrateOptions } from './agents/scheduling/orchestrations.ts'
export type { FoundLoop, OrchestrationResult } from './agents/scheduling/orchestrator.ts'
export type { DispatchedItem, Job, WorkDone, Worker } from './agents/scheduling/worker.ts'
export { type Tool, type ToolCall, type ToolLimits, type ToolOutput, ToolRefused, tool } from './agents/tools/tool.ts'
export type { Colloquy, Queues } from './app/colloquy.ts'
export {
  Configuration,
  type OpenOptions,
  type ProjectFeatures,
  type ProjectOptions,
} from './app/configuration/options.ts'
export { type ReadConfiguration, readConfiguration } from './app/configuration/read-configuration.ts'
export { openColloquy } from './app/open.ts'
export {
  type CopiedAndVerified,
  type CopiedProject,
  type CopyStoreOptions,
  copyStore,
  migrateStore,
  type StoreStatus,
  storeStatus,
} from './app/stores.ts'
export type { Swept } from './app/sweep.ts'
export type { TotalsPage, UsageTotals } from './app/usage-totals.ts'
export type { Conversation } from './conversation/access/conversation.ts'
export type { Session, SessionStats } from './conversation/access/session.ts'
export type { ArchiveSettings, Settings, SettingsInput } from './conversation/access/settings.ts'
export type { MessagePage } from './conversation/access/sliced-lists.ts'
export type { UpdatesOptions } from './conversation/access/updates.ts'
export type { BranchOptions, Comparison, Since } from './conversation/lifecycle/branches.ts'
export {
  ConversationManager,
  type NewConversationInput,
  type SearchResult,
} from './conversation/lifecycle/conversation-manager.ts'
export type { ErasedMessage } from './conversation/lifecycle/erase-message.ts'
export type { PastConversation, PastRequest, ReplayStep } from './conversation/lifecycle/time-travel.ts'
export type { ReferenceSettings } from './conversation/references/reference-settings.ts'
export type { UnresolvedReference } from './conversation/references/references.ts'
export type { AgentRequest } from './conversation/sessions/agent-request.ts'
export type { FoundItem } from './conversation/sessions/checkpoints.ts'
export type { CompactOutcome } from './conversation/sessions/compaction-run.ts'
export type { ListSessions } from './conversation/sessions/session-list.ts'
export { type SessionLinks, SessionManager } from './conversation/sessions/session-manager.ts'
export type { SessionMetrics } from './conversation/sessions/session-metrics.ts'
export type { CompactOptions } from './conversation/sessions/session-requests.ts'
export type { AgentReference, AgentView, AgentViewOptions, Claim } from './conversation/turns/agent-views.ts'
export type { Delegation } from './conversation/turns/delegations.ts'
export type { Execution, ExecutionTime } from './conversation/turns/execution-time.ts'
export type { CurrentPhase, PhaseChange } from './conversation/turns/phases.ts'
export type { Question } from './conversation/turns/questions.ts'
export type { WritePermission } from './conversation/turns/read-files.ts'
export type { TurnSettings } from './conversation/turns/team-settings.ts'
export type { Completion, OrchestratorRoutingContext, RoutingEntry, Turn } from './conversation/turns/turns.ts'
export type { Bead, BeadMove, BeadSummary } from './conversation/work/beads.ts'
export type { Feature, FeatureSummary, WorkPage } from './conversation/work/features.ts'
export type { ReadyItem, ReadyQuery } from './conversation/work/ready-work.ts'
export type { Task, TaskGraph, TaskMove, TaskNode } from './conversation/work/tasks.ts'
export { type WorkItemState, WorkManager } from './conversation/work/work-manager.ts'
export * from './errors.ts'
export type { Accounts, AuditEntry, AuditQuery, ProjectSpending, Spending } from './log/accounts.ts'
export type { ArchivePlace } from './log/archive-place.ts'
export type { DelegationResult, NewDelegation } from './log/commands/delegation.ts'
export { MessageInput } from './log/commands/message-input.ts'
export type { PhaseTransition } from './log/commands/phase.ts'
export { defaultPhases, PhaseSet, type PhaseSetting } from './log/commands/phase-set.ts'
export { defaultLoopSettings, type LoopSettings } from './log/commands/routing-loops.ts'
export { SessionOptions } from './log/commands/session-options.ts'
export type { NewTurn, TurnCompletion } from './log/commands/turn.ts'
export { NewTask, PlanChanges, TaskChange } from './log/commands/work/plan.ts'
export {
  Attempt,
  BeadChanges,
  FeatureChanges,
  Move,
  NewBead,
  NewFeature,
  NewWorktree,
  Report,
} from './log/commands/work/work.ts'
export type { ConversationQuery, DamagedConversation, Directory, Listed, ProjectTotals } from './log/directory.ts'
export type { RecordedListener, Scope, WriteOptions } from './log/engine.ts'
export type { Appended, EventLog, EventRange, Proposal, SubscribeOptions } from './log/event-log.ts'
export { Audience } from './log/events/audience.ts'
export { Checkpoint, type CheckpointItem, type CheckpointSection } from './log/events/checkpoint.ts'
export { ContextLimits, SessionContext } from './log/events/context.ts'
export { AgentDescription } from './log/events/description.ts'
export {
  ConversationEvent,
  type DamagedEvent,
  type ErasedEvent,
  type StoredEvent,
  type UnknownEvent,
} from './log/events/event.ts'
export { type MessageAdded, Role, type TokenCount, Usage } from './log/events/message.ts'
export type { Metadata } from './log/events/metadata.ts'
export { Part } from './log/events/part.ts'
export { isOfType, type Origin, type RecordedEvent } from './log/events/recorded-event.ts'
export type { Reference } from './log/events/reference.ts'
export type { Sharing } from './log/events/session.ts'
export { Strategy } from './log/events/strategy.ts'
export { AttemptOutcome, BeadState, FeatureState, PlannedTask, TaskState, WorkBy } from './log/events/work/work.ts'
export { WorkItem } from './log/events/work-item.ts'
export type { Lease, Leases } from './log/leases.ts'
export type { LivingNode, NodeFacts, Nodes } from './log/nodes.ts'
export type { LaneSums } from './log/records/lane.ts'
export type { Search, SearchedConversations, SearchHit, SearchQuery, TitleHit, TitleQuery } from './log/search.ts'
export type { Store, StoreOptions, WriteQueue } from './log/store.ts'
export type { CopyPhase } from './log/upkeep/copy-project.ts'
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
export {
  type ConversationHead,
  type ConversationInfo,
  type ConversationStatus,
  evolveConversation,
} from './log/views/conversation.ts'
export type { TeamState } from './log/views/conversation-state.ts'
export type { DelegationState } from './log/views/delegations.ts'
export type { Message } from './log/views/message.ts'
export type { PhaseState } from './log/views/phase.ts'
export type { QuestionState } from './log/views/questions.ts'
export type { RunsState } from './log/views/runs.ts'
export { evolveSession, type SessionHead, type SessionStatus, sessionOf } from './log/views/session.ts'
export type { OpenTurn, PastTurn, TurnsState } from './log/views/turns.ts'
export type {
  CompactionUpdated,
  ConversationUpdated,
  SessionUpdated,
  Update,
  UpdateNamed,
  WorkUpdated,
} from './log/views/update.ts'
export type { DispatchesState } from './log/views/work/dispatches.ts'
export type { LandingState, RalphState, ReviewState } from './log/views/work/ralph.ts'
export { agentFor, legalMoves, type WorkType, workStates } from './log/views/work/state-transitions.ts'
export { cycleIn, dagSummary, dependentsOf, layersOf, readyTasks } from './log/views/work/task-graph.ts'
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
} from './log/views/work/work.ts'
export { isVisible, type Viewer } from './log/visibility.ts'
export type { Windows } from './log/windows.ts'
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
export type { Fate, Ledger, LedgerEntry } from './request/assembly/ledger.ts'
export type { ModelLimits } from './request/assembly/model-limits.ts'
export type { RequestOptions, RequestSettings } from './request/assembly/settings.ts'
export type { CheckpointDiff } from './request/compaction/diff.ts'
export type { ContextInputs } from './request/context/gather.ts'
export type { ReferenceResolver, Resolved, ResolverOptions } from './request/context/resolver.ts'
export { type Dialect, type RequestForms, type ResponseForms, requestFor } from './request/dialects/index.ts'
export type { RequestForOptions, ToolDefinition } from './request/dialects/request-form.ts'
export type { RequestMessage, RequestPart } from './request/text/provider-message.ts'
export { fastEstimator, type TokenEstimator } from './request/text/tokens.ts'
export type { Span, SpanAttributes, Tracer } from './tracing.ts'
