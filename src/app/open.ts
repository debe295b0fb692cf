/** `openColloquy`: opens a store and creates the managers of its project. */

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
import type { StoreCalls, StoreOptions } from '../log/store.ts'
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
 * Opens a store and returns the managers of its project.
 *
 * @throws {InvalidInput} naming the invalid option
 * @throws {StoreUnusable} when the address cannot be opened, is no store, or belongs to a newer version
 * @throws {ModelKeyMissing} when the model is named and the key of its provider is missing
 */
export async function openColloquy(callerOptions: OpenOptions = {}): Promise<Colloquy> {
  checkIsOptions(callerOptions)
  const input = await withConfiguration(callerOptions)
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
  const defaultPlace = lazily(() => openArchives(options.archives ?? defaultArchives(url, root)))
  // Existing archives are read at their own address, also when the default place has changed.
  const archives = (address?: string) => (address === undefined ? defaultPlace() : openArchives(address))
  const parts = projectParts(all, { engine: core, estimator, resolvers })
  const project = parts.of(scope.project)
  const keeper = executionKeeper(core, project.team.executionLeaseMs)
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
    close: lazily(async () => {
      clearInterval(sweepTimer)
      clearImmediate(firstSweep)
      for (const stop of autoruns) await stop()
      await Promise.all([...dispatchers.keys(), ...shifts].map(worker => worker.stop()))
      await runs.close()
      live.close()
      await parts.close()
      await keeper.close()
      await store.close()
    }),
  }
  const caretaker = { ...scope, actor: 'maintenance' }
  const { sweepEveryMs, archive } = project.settings
  const teamForUpkeep = () => teamOf(opened, caretaker)
  const isSweeping = sweepEveryMs !== null && !options.readOnly
  // A failed sweep loses nothing; the next one does its work.
  const sweepTimer = isSweeping
    ? setInterval(
        () => sweep(core, caretaker, { archive, team: teamForUpkeep() }).catch(() => undefined),
        timerMs(sweepEveryMs!),
      ).unref()
    : undefined
  // Executions that crashed while the store was closed do not wait for the first sweep. The caller's first call does not
  // wait for them.
  const firstSweep = isSweeping
    ? setImmediate(() => lookAfter(core, caretaker, teamForUpkeep()).catch(() => undefined))
    : undefined

  const colloquy = new Scoped(opened, scope)
  try {
    for (const [name, { agents, features }] of options.readOnly ? [] : all.named) {
      if (agents.autorun && features.agents)
        autoruns.push(
          autorun(colloquy.as({ project: name }), agents, { engine: core, scope: { ...scope, project: name } }),
        )
    }
  } catch (error) {
    // The caller gets no handle to close.
    await colloquy.close()
    throw error
  }
  return colloquy
}

function checkIsOptions(input: OpenOptions): void {
  if (typeof input !== 'object' || input === null)
    throw new InvalidInput('options', `must be an object such as { store: 'sqlite:path' }`)
  const { store } = input
  if (store !== undefined && typeof store !== 'string')
    throw new StoreUnusable(
      `store: must be an address in a string, not a ${typeof store}. Nothing was opened. ${storeHint}`,
    )
}

/**
 * Truncates times to whole milliseconds. A fraction would differ between the log and an archive.
 *
 * @throws {InvalidInput} when the clock is read and returns no time
 */
function wholeClock(clock: () => number): () => number {
  return () => {
    const now = clock()
    if (typeof now === 'number' && Math.abs(now) <= furthestTime) return Math.trunc(now)
    throw new InvalidInput('clock', `must return milliseconds since 1970, but returned ${String(now)}`)
  }
}

/** Overlays the configuration of the project with the caller's options. */
async function withConfiguration(input: OpenOptions): Promise<OpenOptions> {
  const { configuration } = input
  if (configuration !== true && typeof configuration !== 'string') return input
  const configured = await readConfiguration(configuration === true ? {} : { file: configuration })
  return {
    ...overlay<OpenOptions>(OpenOptions, configured, input),
    projects: { ...projectsUnder(configured.projects ?? {}, input), ...input.projects },
  }
}

const storeHint = 'Use sqlite:path, sqlite::memory: or postgres://….'

async function openStore(url: string, options: StoreOptions & { readOnly?: boolean }): Promise<StoreCalls> {
  const [scheme, path = ''] = splitOnce(url, ':')
  if (url.includes('\0')) throw new StoreUnusable('store: a path or address cannot contain a NUL. Nothing was opened.')
  if (scheme === 'sqlite' && path !== '') return (await sqliteDoor()).sqliteStore(path, options)
  if (scheme === 'postgres' || scheme === 'postgresql') return (await postgresDoor()).postgresStore(url, options)
  const address = withoutPassword(url)
  throw new StoreUnusable(`"${address}" is not the address of a store. Nothing was opened. ${storeHint}`, {
    url: address,
  })
}

/** Finds the project's folder once, at the first call: it reads several folders. */
function rootAbove(folder: string): () => string {
  let root: string | undefined
  return () => (root ??= projectRoot(folder))
}

/** Runs `start` at the first call; every call returns its one result. */
function lazily<T>(start: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => (result ??= start())
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)]
}
