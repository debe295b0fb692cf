/**
 * The main door: `openColloquy`, and the types of its managers.
 *
 * Errors to catch are in `colloquy/errors`, models in `colloquy/models`, the port for stores in `colloquy/stores`, the team
 * that codes in `colloquy/building`.
 */
import type * as errors from './errors.ts'

export type { AgentManager } from './agents/runs/agent-manager.ts'
export type { LiveUpdate } from './agents/runs/live-channel.ts'
export type { RunResult } from './agents/runs/run.ts'
export type { RunOptions } from './agents/runs/run-options.ts'
export type { DispatchManager } from './agents/scheduling/dispatch-manager.ts'
export type { DispatchStatus } from './agents/scheduling/dispatcher.ts'
export type { OrchestrationResult } from './agents/scheduling/orchestrator.ts'
export { type Tool, type ToolCall, type ToolOutput, ToolRefused, tool } from './agents/tools/tool.ts'
export type { Colloquy } from './app/colloquy.ts'
export type { OpenOptions, ProjectOptions } from './app/configuration/options.ts'
export { openColloquy } from './app/open.ts'
export type { Conversation } from './conversation/access/conversation.ts'
export type { Session } from './conversation/access/session.ts'
export type { ConversationManager, SearchResult } from './conversation/lifecycle/conversation-manager.ts'
export type { AgentRequest } from './conversation/sessions/agent-request.ts'
export type { CompactOutcome } from './conversation/sessions/compaction-run.ts'
export type { SessionManager } from './conversation/sessions/session-manager.ts'
export type { SessionMetrics } from './conversation/sessions/session-metrics.ts'
export type { AgentView, AgentViewOptions } from './conversation/turns/agent-views.ts'
export type { Delegation, Question, Turn } from './conversation/turns/turn-views.ts'
export type { Bead, Feature, Task } from './conversation/work/item-views.ts'
export type { WorkManager } from './conversation/work/work-manager.ts'
export { ColloquyError } from './errors.ts'
export type { MessageInput } from './log/commands/message-input.ts'
export type { SessionOptions } from './log/commands/session-options.ts'
export type { WriteOptions } from './log/engine.ts'
export type { Audience } from './log/events/audience.ts'
export type { Checkpoint, CheckpointItem } from './log/events/checkpoint.ts'
export type { ConversationEvent } from './log/events/event.ts'
export type { Usage } from './log/events/message.ts'
export type { Part } from './log/events/part.ts'
export { isOfType, type RecordedEvent } from './log/events/recorded-event.ts'
export type { Reference } from './log/events/reference.ts'
export type { WorkItem } from './log/events/work-item.ts'
export type { Message } from './log/views/message.ts'
export type { Update } from './log/views/update.ts'
export type { Model } from './models/model.ts'
export type { Ledger } from './request/assembly/ledger.ts'
export type { RequestOptions, RequestSettings } from './request/assembly/settings.ts'
export type { ReferenceResolver } from './request/context/resolver.ts'
export { type Dialect, requestFor } from './request/dialects/index.ts'
export type { RequestMessage, RequestPart } from './request/text/provider-message.ts'

type ErrorClasses = Omit<typeof errors, 'ColloquyError'>

/** Codes of all errors: values of `ColloquyError.code`. */
export type ErrorCode = InstanceType<ErrorClasses[keyof ErrorClasses]>['code']
