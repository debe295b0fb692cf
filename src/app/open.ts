/** Opens a store and puts the managers over it. */

import { liveChannel } from '../agents/runs/live-channel.ts'
import { runKeeper } from '../agents/runs/run-keeper.ts'
import { autorun } from '../agents/scheduling/autorun.ts'
import type { Dispatcher } from '../agents/scheduling/dispatcher.ts'
import type { RunningShift } from '../agents/team-access.ts'
import { newId } from '../conversation/access/new-id.ts'
import { lookAfter } from '../conversation/turns/due-conversations.ts'
import { executionKeeper } from '../conversation/turns/execution-time.ts'
import { InvalidInput, StoreUnusable } from '../errors.ts'
import { parseInput } from '../log/commands/input.ts'
import { engine } from '../log/engine.ts'
import { furthestTime } from '../log/events/time.ts'
import type { Store, StoreOptions } from '../log/store.ts'
import { withoutPassword } from '../log/store-address.ts'
import { openModel } from '../models/open.ts'
import { estimatorOf } from '../request/text/exact-tokens.ts'
import { timerMs } from '../timers.ts'
import { traced } from '../tracing.ts'
import type { Colloquy } from './colloquy.ts'
import { defaultArchives, openArchives } from './configuration/archive-places.ts'
import { projectsUnder, readConfiguration } from './configuration/configuration-reader.ts'
import { OpenOptions } from './configuration/options.ts'
import { overlay } from './configuration/overlay.ts'
import { defaultStore, projectName, projectRoot } from './configuration/project-root.ts'
import { projectParts } from './project-parts.ts'
import { allProjectSettings } from './project-settings.ts'
import { checkedScope, type Opened, Scoped, teamOf } from './scoped-colloquy.ts'
import { postgresDoor, sqliteDoor } from './store-doors.ts'
import { sweep } from './sweep.ts'
import { projectTotals } from './totals.ts'

/**
 * Opens a store and gives the managers over it.
 *
 * @throws {InvalidInput} naming an option that cannot be
 * @throws {StoreUnusable} when the place cannot be opened, is no store, or belongs to a newer version
 * @throws {ModelKeyMissing} when the model is given by name and its provider's key is missing
 */
export async function openColloquy(given: OpenOptions = {}): Promise<Colloquy> {
  refuseOtherThanOptions(given)
  const input = await withConfiguration(given)
  const options = parseInput(OpenOptions, input)
  const root = rootAbove(process.cwd())
  const url = options.store ?? defaultStore(root())
  const { ids = newId, tokens, tracer, actor, channel, resolvers } = options
  const clock = options.clock ? wholeClock(options.clock) : Date.now
  const scope = checkedScope({ project: options.project ?? projectName(root()), actor, channel })
  const all = allProjectSettings({ project: scope.project, input, options, root })
  const model = typeof options.model === 'string' ? await openModel(options.model) : options.model
  const store = await openStore(url, { ...options, clock })
  const core = engine({ store, clock, newId: ids, traced: tracer && traced(tracer) })
  const estimator = estimatorOf(tokens)
  const place = lazily(() => openArchives(options.archives ?? defaultArchives(url, root)))
  // An archive is read where its address says it is, wherever new ones go.
  const archives = (address?: string) => (address === undefined ? place() : openArchives(address))
  const parts = projectParts(all, { engine: core, estimator, resolvers })
  const own = parts.of(scope.project)
  const keeper = executionKeeper(core, own.team.executionLeaseMs)
  const runs = runKeeper()
  const live = liveChannel()
  const dispatchers = new Map<Dispatcher, string>()
  const shifts = new Set<RunningShift>()
  const autoruns: Array<() => Promise<void>> = []
  const opened: Opened = {
    engine: core,
    store,
    parts,
    model,
    estimator,
    archives,
    keeper,
    totals: projectTotals(store),
    runs,
    live,
    models: new Map(),
    dispatching: options.dispatch,
    dispatchers,
    shifts,
    nodes: {
      announceNode: node => store.announceNode(node),
      forgetNode: id => store.forgetNode(id),
      nodes: () => store.nodes(),
    },
    // Whoever closes it again waits for the same.
    close: lazily(async () => {
      clearInterval(timer)
      clearImmediate(first)
      for (const stop of autoruns) await stop()
      await Promise.all([...dispatchers.keys(), ...shifts].map(one => one.stop()))
      await runs.close()
      live.close()
      await parts.close()
      await keeper.close()
      await store.close()
    }),
  }
  const caretaker = { ...scope, actor: 'maintenance' }
  const { sweepEveryMs, archive } = own.settings
  const colleagues = () => teamOf(opened, caretaker)
  const sweeps = sweepEveryMs !== null && !options.readOnly
  // A failed sweep deletes and loses nothing; the next one comes.
  const timer = sweeps
    ? setInterval(
        () => sweep(core, caretaker, { archive, team: colleagues() }).catch(() => undefined),
        timerMs(sweepEveryMs!),
      ).unref()
    : undefined
  // What came due while nobody was here, crashed executions above all, need not wait for the first sweep; but whoever
  // opens to ask one thing goes first.
  const first = sweeps ? setImmediate(() => lookAfter(core, caretaker, colleagues()).catch(() => undefined)) : undefined

  const opening = new Scoped(opened, scope)
  try {
    for (const [project, { agents, features }] of options.readOnly ? [] : all.named) {
      if (agents.autorun && features.agents)
        autoruns.push(autorun(opening.as({ project }), agents, { engine: core, scope: { ...scope, project } }))
    }
  } catch (error) {
    // Whoever is refused has nothing that could be closed.
    await opening.close()
    throw error
  }
  return opening
}

function refuseOtherThanOptions(input: OpenOptions): void {
  if (typeof input !== 'object' || input === null)
    throw new InvalidInput('options', `must be an object such as { store: 'sqlite:path' }`)
  const { store } = input
  if (store !== undefined && typeof store !== 'string')
    throw new StoreUnusable(`store: a ${typeof store} names no store. ${storeHint}`)
}

/**
 * Times are recorded in whole milliseconds: one with a fraction would not be the same in the log and in an archive.
 *
 * @throws {InvalidInput} when it is asked and gives no time
 */
function wholeClock(clock: () => number): () => number {
  return () => {
    const now = clock()
    if (typeof now === 'number' && Math.abs(now) <= furthestTime) return Math.trunc(now)
    throw new InvalidInput('clock', `must give milliseconds since 1970, and gave ${String(now)}`)
  }
}

/** The caller's options stand over the configuration of the project. */
async function withConfiguration(input: OpenOptions): Promise<OpenOptions> {
  const { configuration } = input
  if (configuration !== true && typeof configuration !== 'string') return input
  const read = await readConfiguration(configuration === true ? {} : { file: configuration })
  return {
    ...overlay<OpenOptions>(OpenOptions, read, input),
    projects: { ...projectsUnder(read.projects ?? {}, input), ...input.projects },
  }
}

const storeHint = 'Use sqlite:path, sqlite::memory: or postgres://….'

async function openStore(url: string, options: StoreOptions & { readOnly?: boolean }): Promise<Store> {
  const [scheme, rest = ''] = splitOnce(url, ':')
  if (url.includes('\0')) throw new StoreUnusable('store: no path and no address has a NUL in it.')
  if (scheme === 'sqlite' && rest !== '') return (await sqliteDoor()).sqliteStore(rest, options)
  if (scheme === 'postgres' || scheme === 'postgresql') return (await postgresDoor()).postgresStore(url, options)
  const named = withoutPassword(url)
  throw new StoreUnusable(`"${named}" names no store. ${storeHint}`, { url: named })
}

/** Looked for once, when somebody needs it: that takes as long as a question to the store. */
function rootAbove(folder: string): () => string {
  let found: string | undefined
  return () => (found ??= projectRoot(folder))
}

function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)]
}
