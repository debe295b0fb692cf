/**
 * The store for many nodes: a schema in a PostgreSQL database, with the same promises as the embedded one.
 *
 * Appends are decided here and written there in one round trip; see `writer.ts` for how that is safe with many writers,
 * and `gate.ts` for how readers keep the order.
 */
import { ConversationPurged, NotFound, StoreClosed, StoreFailed, StoreReadOnly } from '../../errors.ts'
import { purgedInto } from '../../log/archive-place.ts'
import { idProblem } from '../../log/events/id.ts'
import type { Store, StoreOptions } from '../../log/store.ts'
import { provedHeading, provedLines } from '../../log/upkeep/archive-check.ts'
import { exclusive } from './alone.ts'
import { lockKeyOf } from './append.ts'
import { archiveLines, purges } from './archives.ts'
import { auditor } from './audit.ts'
import { beside, refuseAlone } from './beside/client.ts'
import { refuseWithBranches } from './branches.ts'
import { type Database, openDatabase, type Run } from './database.ts'
import { directory } from './directory.ts'
import { archivesOf, erase, rewrite } from './erase.ts'
import { asStoreError, isConstraint } from './errors.ts'
import { feedLater } from './feed-later.ts'
import { headStore } from './heads.ts'
import { importConversation, linesIn } from './import.ts'
import { leaseKeeper } from './leases.ts'
import { maintenance } from './maintenance.ts'
import { migrate } from './migrate.ts'
import { nodeRegister } from './nodes.ts'
import { placeOf } from './place.ts'
import { projectNumbers } from './projects.ts'
import { purge } from './purge.ts'
import { reader } from './read.ts'
import { refold } from './refold.ts'
import { repairer } from './repair.ts'
import { searcher } from './search.ts'
import { searchIndex } from './search-index.ts'
import { signals } from './signals.ts'
import { keepStatistics } from './statistics.ts'
import { feed } from './subscribe.ts'
import { verifier } from './verify.ts'
import { windowReader } from './windows.ts'
import { writer } from './writer.ts'

export { postgresCopySource, postgresCopyTarget } from './copy.ts'
export { postgresStatus } from './status.ts'

export interface PostgresOptions extends StoreOptions {
  /** Open without writing, not even a schema. */
  readOnly?: boolean
  /** Connections at the most, beside the one that listens. Default 10. */
  connections?: number
  /** Told what an operator should know, such as a transaction elsewhere that holds subscribers up. Default: a warning. */
  onReport?: (message: string) => void
}

/** Calls of appends under way at once; more would only split what can share one. */
const appendCalls = 4

/**
 * Opens the store in a database: `postgres://user@host/database?schema=colloquy`.
 *
 * @throws {StoreUnusable} when the server cannot be reached, the schema is somebody else's or a newer program's
 */
export async function postgresStore(url: string, options: PostgresOptions): Promise<Store> {
  refuseAlone()
  const { clock, durability = 'full', readOnly = false, busyTimeoutMs = 10_000, connections = 10 } = options
  const report = options.onReport ?? (message => process.emitWarning(message, 'ColloquyWarning'))
  const database = openDatabase({ place: placeOf(url), durability, readOnly, busyTimeoutMs, connections })
  const { epoch, base } = await migrate(database, { readOnly }).catch(async error => {
    await database.close()
    throw asStoreError(error, database.place.name)
  })
  // A clock of a test's or a replay's counts for leases too; otherwise all nodes go by the server's.
  const leaseClock = () => (clock === Date.now ? null : clock())

  const projects = projectNumbers(database)
  const heads = headStore({ refold })
  const read = reader({ database, projects, epoch })
  const lists = directory({ database, projects })
  const windows = windowReader({ database, projects })
  const keeper = leaseKeeper({ database, projects, clock, leaseClock })
  const register = nodeRegister({ database, leaseClock })
  const side = beside({ url, busyTimeoutMs, base })
  const index = searchIndex({ database, base, beside: side.feed })
  // Who only reads searches what others have fed; a writer feeds when it pauses and when it closes.
  const search = searcher({ database, projects, feed: readOnly ? async () => undefined : index.feed })
  const verify = verifier(database)
  const audit = auditor({ database, projects })
  const repair = repairer(database, epoch)
  const upkeep = maintenance({ database, heads, projects, conversation: lists.conversation })
  const events = feed({ database, projects, epoch, base, report })
  const signal = signals({ database, heard: events.wakeNumber, connected: events.wakeAll })
  const feeding = feedLater(number => index.feed(number))
  let closed = false
  /** Whoever closes it again waits for the same. */
  let closing: Promise<void> | undefined

  const statistics = keepStatistics(database)

  /** Projects that were written to, and how many events, of which nobody has been told yet. */
  const untold = { projects: new Set<string>(), events: 0 }

  /** Who waits for the answer has it first. */
  function committed(written: Iterable<string>, count = 1): void {
    if (untold.projects.size === 0) setImmediate(tell)
    for (const project of written) untold.projects.add(project)
    untold.events += count
  }

  function tell(): void {
    const written = [...untold.projects]
    statistics.grown(untold.events)
    untold.projects.clear()
    untold.events = 0
    for (const project of written) {
      events.wake(project)
      const number = projects.known(project)
      if (number === undefined) continue
      signal.tell(number)
      feeding.soon(number)
    }
  }

  const write = writer({
    database,
    heads,
    projects,
    epoch,
    base,
    clock,
    leaseClock,
    isHeld: keeper.isHeld,
    busyTimeoutMs,
    calls: appendCalls,
    read,
    async purgedArchive(project, conversationId) {
      const [row] = await database.read<[string]>(
        'select archive from purges where project = $1 and conversation_id = $2 order by purge desc limit 1',
        [project, conversationId],
      )
      return row?.[0]
    },
    committed,
    started: events.started,
  })

  async function reading<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw new StoreClosed()
    try {
      return await work()
    } catch (error) {
      throw closed ? new StoreClosed() : asStoreError(error, database.place.name)
    }
  }

  function writing<T>(work: () => Promise<T>): Promise<T> {
    const { name } = database.place
    if (readOnly) return Promise.reject(new StoreReadOnly(`${name} was opened for reading only.`, { place: name }))
    return reading(work)
  }

  /** Changes a conversation as a whole, in a transaction that holds its lock. */
  async function changing<T>(project: string, conversationId: string, work: (run: Run) => Promise<T>): Promise<T> {
    const key = lockKeyOf(epoch, project, conversationId)
    try {
      for (let tries = 0; ; tries++) {
        try {
          return await database.transaction(async run => {
            await run('select pg_advisory_xact_lock($1)', [key])
            return work(run)
          })
        } catch (error) {
          // Somebody took one of its messages into the index at this moment, or used one of its blobs.
          if (tries === 5 || !isConstraint((error as Error).cause)) throw error
        }
      }
    } finally {
      heads.forget(project, conversationId)
    }
  }

  async function headOf(project: string, conversationId: string) {
    const number = await projects.find(project)
    const [row] =
      number === undefined || idProblem(conversationId)
        ? []
        : await database.read<[number, number, Uint8Array]>(
            'select conversation, version, hash from conversations join ends using (project, conversation) where project = $1 and id = $2',
            [number, conversationId],
          )
    if (row) return { number: number!, conversation: row[0], upTo: row[1], hash: row[2] }
    const purged = number === undefined ? [] : await purges(database, number)
    const found = purged.find(one => one.conversationId === conversationId)
    throw found
      ? new ConversationPurged({ conversationId, archive: found.archive })
      : new NotFound('conversation', conversationId)
  }

  async function placesOf(project: string, messageId: string) {
    const number = await projects.find(project)
    if (number === undefined || idProblem(messageId)) return { number: 0, places: [] }
    if (!readOnly) await index.feed(number)
    return { number, places: await index.find(number, messageId) }
  }

  return {
    append: proposal => (closed || readOnly ? writing(() => write.append(proposal)) : write.append(proposal)),
    read: range => reading(() => read(range)),
    subscribe(options) {
      if (closed) throw new StoreClosed()
      signal.listen().catch(() => undefined)
      return events.subscribe(options)
    },
    position: () => reading(() => events.position()),

    claim: request => writing(() => keeper.leases.claim(request)),
    claimAny: request => writing(() => keeper.leases.claimAny(request)),
    renew: request => writing(() => keeper.leases.renew(request)),
    release: request => writing(() => keeper.leases.release(request)),
    holderOf: request => reading(() => keeper.leases.holderOf(request)),
    announceNode: node => writing(() => register.announceNode(node)),
    forgetNode: id => writing(() => register.forgetNode(id)),
    nodes: () => reading(() => register.nodes()),

    messages: (window, page) => reading(() => windows.messages(window, page)),
    measure: window => reading(() => windows.measure(window)),
    message: (project, id) =>
      reading(async () => {
        const { number, places } = await placesOf(project, id)
        for (const place of places) {
          const found = await windows.message(number, id, place)
          if (found) return found
        }
        return undefined
      }),

    conversation: (project, id) => reading(() => lists.conversation(project, id)),
    conversationOf: (project, item) => reading(() => lists.conversationOf(project, item)),
    conversations: query => reading(() => lists.conversations(query)),
    workItems: query => reading(() => lists.workItems(query)),
    session: (project, id) => reading(() => lists.session(project, id)),
    sessionByKey: (project, key) => reading(() => lists.sessionByKey(project, key)),
    sessions: query => reading(() => lists.sessions(query)),
    projects: () => reading(() => lists.projects()),
    totals: project => reading(() => lists.totals(project)),
    landmark: (project, conversationId, version) =>
      reading(async () => {
        const number = await projects.find(project)
        const [row] =
          number === undefined || idProblem(conversationId)
            ? []
            : await database.read<[number]>('select conversation from conversations where project = $1 and id = $2', [
                number,
                conversationId,
              ])
        return row && index.landmark(number!, row[0], version, { mayMake: !readOnly })
      }),

    audit: query => reading(() => audit(query)),

    search: query => reading(() => search.messages(query)),
    searchTitles: query => reading(() => search.titles(query)),

    verify: (options = {}) => reading(() => verify(options)),
    repair: (options = {}) =>
      writing(async () => {
        const { heads: repaired, projects: numbers } = await repair(options)
        heads.forgetAll()
        for (const number of numbers) await index.feed(number)
        return { heads: repaired, indexed: await index.size(numbers) }
      }),
    ...(database.canKeep && { alone: exclusive(database, epoch) }),
    rewrite: ({ project, conversationId, message, reason, origin, copies }) =>
      writing(async () => {
        const { number, conversation } = await headOf(project, conversationId)
        const place = { conversation, conversationId, version: message.version }
        const input = { project, number, messageId: message.id, reason, origin, copies, place }
        const archives = await changing(project, conversationId, async run => {
          await rewrite(run, write.appendWithin, input)
          return archivesOf(run, number, conversationId)
        })
        events.forget()
        committed([project])
        return archives
      }),
    erase: ({ project, messageId, reason, origin, copies }) =>
      writing(async () => {
        const { number, places } = await placesOf(project, messageId)
        const [place] = places
        const [row] = place
          ? await database.read<[string]>('select id from conversations where project = $1 and conversation = $2', [
              number,
              place.conversation,
            ])
          : []
        if (!place || !row) throw new NotFound('message', messageId)
        const erased = await changing(project, row[0], run =>
          erase(run, write.appendWithin, {
            project,
            number,
            messageId,
            reason,
            origin,
            copies,
            place: { ...place, conversationId: row[0] },
          }),
        )
        events.forget()
        committed([project])
        return erased
      }),
    purge: ({ project, conversationId, to, reason, origin }) =>
      writing(async () => {
        const head = await headOf(project, conversationId)
        await refuseWithBranches(database.read, { ...head, conversationId })
        const lines = provedLines(archiveLines(database, { project, conversationId, ...head }))
        const archive = await to.write(`${project}-${conversationId}`, lines)
        const { number, hash } = head
        const removed = await purgedInto({ to, archive, recorded: () => purges(database, number) }, () =>
          changing(project, conversationId, run =>
            purge(run, { number, conversationId, archive, hash, now: clock(), reason, origin }),
          ),
        )
        events.forget()
        return { conversationId, events: removed, archive }
      }),
    purges: project =>
      reading(async () => {
        const number = await projects.find(project)
        return number === undefined ? [] : purges(database, number)
      }),
    restore: ({ project, lines }) =>
      writing(async () => {
        const parsed = await linesIn(lines)
        const id = await restored(database, parsed)
        committed([project])
        const head = await lists.conversation(project, id)
        if (!head) throw new StoreFailed(`Conversation ${id} was restored but cannot be read.`, { id })
        return head

        async function restored(from: Database, all: typeof parsed): Promise<string> {
          const heading = provedHeading(all, project)
          const { conversationId } = heading
          const [row] = await from.read<[number]>(`select nextval('conversation_numbers')`)
          const numbers = { project: await projects.ensure(project, clock()), conversation: row![0] }
          const lockKey = lockKeyOf(epoch, project, conversationId)
          await changing(project, conversationId, run =>
            importConversation(run, { project, numbers, base, lockKey, heading, lines: all, now: clock() }),
          )
          return conversationId
        }
      }),
    async *export({ project, conversationId }) {
      const head = await reading(() => headOf(project, conversationId))
      yield* archiveLines(database, { project, conversationId, ...head })
    },
    expiring: (project, now, limit) => reading(() => upkeep.expiring(project, now, limit)),
    archivable: (project, due, page) => reading(() => upkeep.archivable(project, due, page)),
    due: (project, now, page) => reading(() => upkeep.due(project, now, page)),

    queue: () => write.queue(),
    close() {
      closing ??= closeAll()
      return closing
    },
  }

  async function closeAll(): Promise<void> {
    closed = true
    // Idle connections keep no process alive; taking leave of the server does, or the process would end in the middle.
    const alive = setInterval(() => undefined, 1000)
    try {
      await write.close()
      tell()
      await feeding.finish()
      await side.close()
      events.close()
      await signal.close()
      await database.close()
    } finally {
      clearInterval(alive)
    }
  }
}
