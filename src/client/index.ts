/** The typed client of the API, for browsers and Node: the contract's endpoints as functions, and the names of the types. */
import type { StoredEvent } from '../log/events/event.ts'
import type { AnswerOf } from '../server/contract/endpoint.ts'
import type { Contract } from '../server/contract/index.ts'

export type { Audience } from '../log/events/audience.ts'
export type { Checkpoint, CheckpointItem, CheckpointTaken } from '../log/events/checkpoint.ts'
export type { ConversationEvent, StoredEvent } from '../log/events/event.ts'
export type { MessageAdded, Usage } from '../log/events/message.ts'
export type { FilePart, Part, ToolCallPart, ToolResultPart } from '../log/events/part.ts'
export type { QuestionAsked } from '../log/events/question.ts'
export type { WorkItem } from '../log/events/work-item.ts'
export { type Dialect, type RequestForms, requestFor } from '../request/dialects/index.ts'
export type { RequestForOptions, ToolDefinition } from '../request/dialects/request-form.ts'
export type { CallOptions } from './call.ts'
export { type Client, type ClientOptions, connect } from './client.ts'
export { ApiError } from './error.ts'
export type { LiveEvent, LiveOptions, LiveWords } from './live.ts'

export type Conversation = AnswerOf<Contract['conversations']['get']>
export type Message = AnswerOf<Contract['conversations']['message']>
export type Session = AnswerOf<Contract['sessions']['get']>
export type SessionMetrics = AnswerOf<Contract['sessions']['metrics']>
export type AgentRequest = AnswerOf<Contract['sessions']['preview']>
export type AgentView = AnswerOf<Contract['teams']['previewView']>
export type Found = AnswerOf<Contract['projects']['search']>
export type SearchHit = Found['messages'][number]
export type TitleHit = Found['conversations'][number]
/** An event of the log with its envelope; `event` is one of the facts, or one that cannot be read. */
export type RecordedEvent = Omit<AnswerOf<Contract['conversations']['events']>['items'][number], 'event'> & {
  event: StoredEvent
}
