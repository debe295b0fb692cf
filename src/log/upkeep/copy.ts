/**
 * The port for copying a project from one store into another, as it stands there: events with their bytes, hashes and
 * damage, heads, idempotency keys and what was purged. Leases stay behind: who holds one holds it in the other store.
 *
 * What is copied is the same records in the same order whatever store gives them, so two stores have the same project
 * when they give the same text for it. `copy-project.ts` does the work.
 */
import { hash as hashText } from 'node:crypto'
import { IllegalState } from '../../errors.ts'
import type { WorkItem } from '../events/work-item.ts'

export interface CopiedEvent {
  conversationId: string
  version: number
  type: string
  schema: number
  at: number
  actor: string
  channel: string
  requestId: string | null
  messageId: string | null
  /** Whom the message is for; the audience as JSON. */
  lane: { audienceKey: string; kind: string; audience: string } | null
  /** The running sums of its lane as they are stored, right or wrong. */
  sums: readonly [messages: number, tokens: number, input: number, output: number] | null
  /** Bytes are base64. Null together when the content was erased. */
  salt: string | null
  body: string | null
  digest: string
  hash: string
  /** It is not what was written: reading it must go on saying so. */
  isDamaged: boolean
  /** The blobs that its body names and that are there. */
  blobs: ReadonlyArray<{ digest: string; json: string }>
}

export interface CopiedConversation {
  id: string
  createdAt: number
  recentAt: number
  status: string
  workType: string
  /** Its head, as it is stored. */
  info: string
  /** What the head says, or the log where the head cannot be read. */
  workItem: WorkItem
  title: string
  /** Of a work item: where it stands. */
  work: { state: string; priority: number } | null
  dueAt: number | null
  branchOf: { conversationId: string; version: number } | null
  version: number
  hash: string
  activeAt: number
}

export interface CopiedSession {
  id: string
  conversationId: string
  /** Its natural key. */
  key: string
  agent: string
  status: string
  expiresAt: number | null
  compactions: number
  /** As it is stored. */
  head: string
}

export interface CopiedKey {
  key: string
  digest: string
  conversationId: string
  firstVersion: number
  lastVersion: number
  sessionId: string | null
}

export interface CopiedPurge {
  conversationId: string
  archive: string
  events: number
  hash: string
  at: number
  actor: string
  channel: string
  requestId: string | null
  reason: string | null
  restoredAt: number | null
}

export interface CopyCounts {
  conversations: number
  events: number
  sessions: number
  keys: number
  purges: number
}

/** A project that can be read from beginning to end, and does not change meanwhile. */
export interface CopySource {
  /** Undefined when there is no such project. */
  counts(): Promise<CopyCounts | undefined>
  createdAt(): Promise<number>
  /** In the order of the ids' bytes. */
  conversations(): AsyncIterable<CopiedConversation[]>
  /** In the order that subscribers see them. */
  events(): AsyncIterable<CopiedEvent[]>
  /** In the order they were made. */
  sessions(): AsyncIterable<CopiedSession[]>
  /** In the order of the keys' bytes. */
  keys(): AsyncIterable<CopiedKey[]>
  purges(): Promise<CopiedPurge[]>
}

/** A store that is copied from. Nothing is written to it. */
export interface CopyableStore {
  /** For people: without user and password. */
  readonly name: string
  /** Tells this store from others. */
  readonly epoch: string
  projects(): Promise<string[]>
  /** Works on a project as it is at one moment. May call `work` again from the beginning when the connection is lost. */
  snapshot<T>(project: string, work: (source: CopySource) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** A project that is being copied into. Nobody can see it before it is published. */
export interface CopyTarget {
  /** How many events are there already, from a copy that was interrupted. */
  readonly done: number
  putConversations(conversations: readonly CopiedConversation[]): Promise<void>
  putEvents(events: readonly CopiedEvent[]): Promise<void>
  putSessions(sessions: readonly CopiedSession[]): Promise<void>
  putKeys(keys: readonly CopiedKey[]): Promise<void>
  /** What is there by now, to be compared with its source. */
  readBack<T>(work: (source: CopySource) => Promise<T>): Promise<T>
  /**
   * Gives the project its name: from now on it is there.
   *
   * @throws {IllegalState} when somebody began to use the project meanwhile
   */
  publish(): Promise<void>
}

/** What a copy begins with. */
export interface CopyBeginning {
  /** Of the store it is from. */
  epoch: string
  createdAt: number
  purges: readonly CopiedPurge[]
}

export interface CopyableTarget extends CopyableStore {
  /**
   * Begins a copy, or takes up one that was interrupted.
   *
   * @throws {IllegalState} when the project has data of its own, or an unfinished copy from elsewhere
   */
  begin(project: string, from: CopyBeginning): Promise<CopyTarget>
  /** Unfinished copies: the names that their projects will have. */
  unfinished(): Promise<string[]>
  /** Gives up an unfinished copy, if there is one. */
  discard(project: string): Promise<void>
}

/** Why a project is not taken in, and what to do. */
export const copyRefused = {
  hasOwnData: (project: string, place: string, conversations: number) =>
    new IllegalState(
      `Project "${project}" has data of its own in ${place} (${conversations} conversations). Nothing was copied: name another target, or copy other projects only.`,
      { project, place, conversations },
    ),
  isInUse: (project: string, place: string) =>
    new IllegalState(`Somebody is at work in project "${project}" of ${place}. Stop that first, then copy again.`, {
      project,
      place,
    }),
  isFromElsewhere: (project: string, place: string) =>
    new IllegalState(
      `${place} has an unfinished copy of project "${project}" from another store. Finish that one, or give it up and begin anew with --restart.`,
      { project, place },
    ),
}

/** How many events, or other records, are handed over at a time. */
export const copyPageSize = 500

/**
 * The name of a project that is being copied. It is longer than a project's name may be, so nobody can ask for it, and
 * nobody finds it in a list.
 */
export function nameWhileCopied(project: string): string {
  return `${'being copied '.repeat(40)}${project}`
}

const prefix = nameWhileCopied('')

/** The name that a project being copied will have; undefined when it is an ordinary project. */
export function copiedName(name: string): string | undefined {
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined
}

/** In damaged records text may hold what one of the stores cannot. They say that they are damaged all the same. */
export function plainText(value: unknown): string {
  return String(value).toWellFormed().replaceAll('\0', '\ufffd')
}

/** What two stores must agree on, as one line each. */
export const recordLine = {
  event: ({ blobs, ...event }: CopiedEvent) =>
    JSON.stringify([
      'event',
      ...Object.values(inOrder(event)),
      blobs.map(({ digest, json }) => [digest, hashText('sha256', json)]),
    ]),
  conversation: ({ id, createdAt, recentAt, status, workType, info }: CopiedConversation) =>
    JSON.stringify(['conversation', id, createdAt, recentAt, status, workType, info]),
  session: ({ id, conversationId, agent, status, expiresAt, head }: CopiedSession) =>
    JSON.stringify(['session', id, conversationId, agent, status, expiresAt, head]),
  key: ({ key, digest, conversationId, firstVersion, lastVersion, sessionId }: CopiedKey) =>
    JSON.stringify(['key', key, digest, conversationId, firstVersion, lastVersion, sessionId]),
  purge: (purge: CopiedPurge) => JSON.stringify(['purge', ...Object.values(inOrder(purge))]),
}

function inOrder<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))) as T
}
