/**
 * `colloquy/stores`: the port that a store implements, and calls on whole stores.
 *
 * docs/stores.md says how to write a store. `colloquy/testing` has the tests that it must pass.
 */

export {
  type CopiedProject,
  type CopyStoreOptions,
  copyStore,
  migrateStore,
  type StoreStatus,
  storeStatus,
} from './app/stores.ts'
export type { Accounts, AuditEntry, AuditQuery, ProjectSpending, Spending } from './log/accounts.ts'
export type { ArchivePlace } from './log/archive-place.ts'
export type { ConversationQuery, DamagedConversation, Directory, Listed, ProjectTotals } from './log/directory.ts'
export type { Appended, EventLog, EventRange, Proposal, SubscribeOptions } from './log/event-log.ts'
export type { ConversationHeadQuery, HeadPage, HeadQuery, SessionHeadQuery } from './log/head-query.ts'
export type { Lease, Leases } from './log/leases.ts'
export type { LivingNode, NodeFacts, NodeRegister, Nodes } from './log/nodes.ts'
export type { LaneSums } from './log/records/lane.ts'
export type { RowChanges, RowStore, Rows } from './log/rows.ts'
export type {
  Search,
  SearchedConversations,
  SearchHit,
  SearchQuery,
  SearchResult,
  StoreSearch,
  TitleHit,
  TitleQuery,
} from './log/search.ts'
export type { Store, StoreCalls, StoreOptions, WriteQueue } from './log/store.ts'
export { storeCalls } from './log/upkeep/store-calls.ts'
export { type UpkeepOperations, upkeepOver } from './log/upkeep/upkeep-over.ts'
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
export { type RunUpkeep, writingOperations } from './log/upkeep-work.ts'
export { type ConversationHead, evolveConversation } from './log/views/conversation.ts'
export { evolveSession, type SessionHead } from './log/views/session.ts'
export { isVisible, type Viewer } from './log/visibility.ts'
export type { Page, Window, Windows } from './log/windows.ts'
