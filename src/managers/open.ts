/** Opens a store and puts the managers over it. */
import { basename, dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { parseInput } from '../commands/input.ts'
import { engine, type Scope } from '../engine.ts'
import { StoreUnusable } from '../errors.ts'
import { Id } from '../events/id.ts'
import type { ArchivePlace } from '../log/archive-place.ts'
import type { ProjectTotals } from '../log/directory.ts'
import type { Store, StoreOptions } from '../log/store.ts'
import type { Progress, VerifyReport } from '../log/upkeep.ts'
import type { Model } from '../models/model.ts'
import { loadExactEstimator } from '../request/exact-tokens.ts'
import { fastEstimator, type TokenEstimator } from '../request/tokens.ts'
import { type Update, updateOf } from '../views/update.ts'
import { ConversationManager } from './conversation-manager.ts'
import { newId } from './new-id.ts'
import { defaultStore, projectRoot } from './project-root.ts'
import { defaultRequestSettings, type RequestSettings } from './request-settings.ts'
import { scribe } from './scribe.ts'
import { SessionManager } from './session-manager.ts'
import { SessionRequests } from './session-requests.ts'
import { completeSettings, type SettingsInput } from './settings.ts'
import { type Swept, sweep } from './sweep.ts'

export interface OpenOptions extends SettingsInput, Partial<Pick<StoreOptions, 'durability' | 'busyTimeoutMs'>> {
  /** `sqlite:path`, `sqlite::memory:` or `postgres://…`. Default: `.colloquy/colloquy.db` in the project root. */
  store?: string
  /** The workspace all of this belongs to; nothing crosses it. Default: the name of the project root. */
  project?: string
  /** Who writes, unless a call says otherwise. */
  actor?: string
  /** Through what: 'library', 'cli', 'http' … */
  channel?: string
  /** Milliseconds since 1970; for tests and replays. */
  clock?: () => number
  /** Makes ids; for tests. They must be unique. */
  ids?: () => string
  /** How messages are counted: exactly (o200k, the default), fast, or by an estimator of yours. */
  tokens?: 'exact' | 'fast' | TokenEstimator
  /** Where purged conversations go: a folder, or `s3://bucket/prefix?endpoint=…`. Default: `archives` beside the store. */
  archives?: string
  /** Opens without writing anything. */
  readOnly?: boolean
  /** How requests are put together: budget, strategy, when to compact. */
  requests?: Partial<RequestSettings>
  /** Writes the summaries of compactions; without one they are made offline, by extraction. */
  model?: Model
}

export interface UpdatesOptions {
  /** 'start', 'now' (default), or the position of the last update seen. */
  from?: string
  conversationId?: string
  sessionId?: string
  name?: Update['name']
  signal?: AbortSignal
}

export interface Colloquy {
  readonly project: string
  readonly sessions: SessionManager
  readonly conversations: ConversationManager
  /** Every update of the project once, in order, resumable by position. */
  subscribe(options?: UpdatesOptions): AsyncIterableIterator<Update>
  /** Checks every hash, refolds every head, reports each damaged record. Changes nothing. */
  verify(options?: { onProgress?: Progress; allProjects?: boolean }): Promise<VerifyReport>
  /** Totals of the project. */
  stats(): Promise<ProjectTotals>
  /** Runs the maintenance sweep now. */
  maintain(): Promise<Swept>
  /** The same store as somebody else, through something else, or in another project. */
  as(scope: Partial<Scope>): Colloquy
  /** The projects this store holds. */
  projects(): Promise<string[]>
  close(): Promise<void>
}

/**
 * Opens a store and gives the managers over it.
 *
 * @throws {StoreUnusable} when the place cannot be opened, is no store, or belongs to a newer version
 */
export async function openColloquy(options: OpenOptions = {}): Promise<Colloquy> {
  const root = projectRoot()
  const url = options.store ?? defaultStore(root)
  const { clock = Date.now, ids = newId, tokens = 'exact' } = options
  const settings = completeSettings(withoutUndefined(options))
  const store = await openStore(url, { ...options, clock })
  const core = engine({ store, clock, newId: ids })
  const estimator = estimatorOf(tokens)
  const scribing = scribe({ maxMessageBytes: settings.maxMessageBytes, newId: ids, estimator })
  const requests: RequestSettings = { ...defaultRequestSettings, ...options.requests }
  const place = lazily(() => openArchives(options.archives ?? defaultArchives(url, root)))
  // An archive is read where its address says it is, wherever new ones go.
  const archives = (address?: string) => (address === undefined ? place() : openArchives(address))
  const scope = checkedScope({
    project: options.project ?? basename(root),
    actor: options.actor ?? 'local',
    channel: options.channel ?? 'library',
  })
  const timer =
    settings.sweepEveryMs === null || options.readOnly
      ? undefined
      : setInterval(() => {
          // A failed sweep deletes and loses nothing; the next one comes.
          sweep(core, { ...scope, actor: 'maintenance' }, settings.archive).catch(() => undefined)
        }, settings.sweepEveryMs).unref()

  function within(scope: Scope): Colloquy {
    return {
      project: scope.project,
      sessions: new SessionManager({
        engine: core,
        scope,
        settings,
        scribe: scribing,
        requests: new SessionRequests({ engine: core, scope, settings: requests, model: options.model, estimator }),
      }),
      conversations: new ConversationManager({ engine: core, scope, scribe: scribing, archives }),
      subscribe: (options = {}) => updates(store, scope.project, options),
      verify: ({ onProgress, allProjects = false } = {}) =>
        store.verify({ ...(!allProjects && { project: scope.project }), ...(onProgress && { onProgress }) }),
      stats: () => store.totals(scope.project),
      maintain: () => sweep(core, scope, settings.archive),
      as: changes => within(checkedScope({ ...scope, ...changes })),
      projects: () => store.projects(),
      async close() {
        clearInterval(timer)
        await store.close()
      },
    }
  }
  return within(scope)
}

const ScopeInput = z.strictObject({ project: Id, actor: Id, channel: Id, requestId: Id.optional() })

function checkedScope(scope: Scope): Scope {
  const { requestId, ...rest } = parseInput(ScopeInput, scope)
  return requestId === undefined ? rest : { ...rest, requestId }
}

/** Kept, because asking the loader again takes as long as opening the file. */
let sqliteDoor: typeof import('../stores/sqlite/index.ts') | undefined
let postgresDoor: typeof import('../stores/postgres/index.ts') | undefined

/** Loads the door of the store that the URL names, so that nobody pays for one they do not use. */
async function openStore(url: string, options: StoreOptions & { readOnly?: boolean }): Promise<Store> {
  const [scheme, rest = ''] = splitOnce(url, ':')
  if (scheme === 'sqlite' && rest !== '') {
    sqliteDoor ??= await import('../stores/sqlite/index.ts')
    return sqliteDoor.sqliteStore(rest, options)
  }
  if (scheme === 'postgres' || scheme === 'postgresql') {
    postgresDoor ??= await import('../stores/postgres/index.ts')
    return postgresDoor.postgresStore(url, options)
  }
  throw new StoreUnusable(`"${url}" names no store. Use sqlite:path, sqlite::memory: or postgres://….`, { url })
}

async function openArchives(address: string): Promise<ArchivePlace> {
  if (address.startsWith('s3:')) return (await import('../stores/archives/s3.ts')).s3Archives(address)
  return (await import('../stores/archives/folder.ts')).folderArchives(address)
}

function defaultArchives(url: string, root: string): string {
  const [scheme, path = ''] = splitOnce(url, ':')
  return join(
    scheme !== 'sqlite' || path === '' || path === ':memory:' ? join(root, '.colloquy') : dirname(resolve(path)),
    'archives',
  )
}

function estimatorOf(tokens: 'exact' | 'fast' | TokenEstimator): () => TokenEstimator | Promise<TokenEstimator> {
  if (tokens === 'fast') return () => fastEstimator
  if (tokens !== 'exact') return () => tokens
  let loaded: TokenEstimator | undefined
  const load = lazily(async () => {
    loaded = await loadExactEstimator()
    return loaded
  })
  return () => loaded ?? load()
}

/** The log's own subscription, named and filtered. It starts where the log is when this is called. */
function updates(store: Store, project: string, options: UpdatesOptions): AsyncIterableIterator<Update> {
  const { conversationId, sessionId, name, from, signal } = options
  const events = store.subscribe({ project, ...(from !== undefined && { from }), ...(signal && { signal }) })
  const wanted = (update: Update) =>
    (conversationId === undefined || update.conversationId === conversationId) &&
    (name === undefined || update.name === name) &&
    (sessionId === undefined || ('sessionId' in update && update.sessionId === sessionId))
  return {
    async next() {
      for (;;) {
        const { done, value } = await events.next()
        if (done) return { done: true, value: undefined }
        const update = updateOf(value)
        if (wanted(update)) return { done: false, value: update }
      }
    },
    async return() {
      await events.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)]
}

function withoutUndefined(options: OpenOptions): SettingsInput {
  const { sessionExpiresInMs, maxMessageBytes, sharing, sweepEveryMs, archive } = options
  const entries = Object.entries({ sessionExpiresInMs, maxMessageBytes, sharing, sweepEveryMs, archive })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as SettingsInput
}
