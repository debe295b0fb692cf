/** What is done to a store as a whole: looking at it, bringing it to today's schema, copying it into another. */
import { statSync } from 'node:fs'
import { StoreUnusable } from '../errors.ts'
import type { StoreStatus } from '../log/status.ts'
import { withoutPassword } from '../log/store-address.ts'
import type { CopyableStore, CopyableTarget } from '../log/upkeep/copy.ts'
import { type CopiedProject, type CopyPhase, copyProject } from '../log/upkeep/copy-project.ts'
import type { Damage } from '../log/upkeep.ts'
import { openColloquy } from './open.ts'
import { postgresDoor, sqliteDoor } from './store-doors.ts'

export type { CopiedProject, CopyPhase, StoreStatus }

/**
 * How a store stands. Changes nothing.
 *
 * @throws {StoreUnusable} when there is none
 */
export async function storeStatus(url: string): Promise<StoreStatus> {
  const place = placeOf(url)
  if (place.scheme === 'sqlite') return (await sqliteDoor()).sqliteStatus(place.path)
  return (await postgresDoor()).postgresStatus(url)
}

/** Brings a store to today's schema, which opening it for writing does too. */
export async function migrateStore(url: string): Promise<{ from: number; to: number }> {
  const { schema: from } = await storeStatus(url)
  const colloquy = await openColloquy({ store: url, sweepEveryMs: null, tokens: 'fast' })
  await colloquy.close()
  return { from, to: (await storeStatus(url)).schema }
}

export interface CopyStoreOptions {
  from: string
  to: string
  /** Default: all that the source has. */
  projects?: readonly string[]
  /** Gives up what an interrupted copy had brought over. */
  restart?: boolean
  onProgress?: (progress: { project: string; phase: CopyPhase; done: number; total: number }) => void
  /** Told of each project when it is there. */
  onProject?: (project: CopiedAndVerified) => void
}

export interface CopiedAndVerified extends CopiedProject {
  /** What `verify` found on each side. */
  damages: { from: Damage[]; to: Damage[] }
}

/**
 * Copies projects from one store into another, of the same kind or not, every event byte for byte. Nothing is written to
 * the source. Interrupted, it goes on when it is called again; what is there already is compared and left as it is.
 *
 * @throws {IllegalState} when the target has data of its own for a project
 */
export async function copyStore(options: CopyStoreOptions): Promise<CopiedAndVerified[]> {
  const { from, to, restart = false, onProgress, onProject } = options
  if (from === to || areSameFile(from, to)) {
    throw new StoreUnusable('A store cannot be copied into itself.', {
      from: withoutPassword(from),
      to: withoutPassword(to),
    })
  }
  const source = await openSource(from)
  const copied: CopiedAndVerified[] = []
  try {
    const target = await openTarget(to)
    try {
      for (const project of options.projects ?? (await source.projects())) {
        const one = await copyProject({
          from: source,
          to: target,
          project,
          restart,
          onProgress: (phase, done, total) => onProgress?.({ project, phase, done, total }),
        })
        const damages = { from: await damagesOf(from, project), to: await damagesOf(to, project) }
        const done = { ...one, damages }
        copied.push(done)
        onProject?.(done)
      }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
  return copied
}

async function damagesOf(store: string, project: string): Promise<Damage[]> {
  const colloquy = await openColloquy({ store, project, readOnly: true, sweepEveryMs: null, tokens: 'fast' })
  try {
    return (await colloquy.verify()).damages
  } finally {
    await colloquy.close()
  }
}

async function openSource(url: string): Promise<CopyableStore> {
  const place = placeOf(url)
  if (place.scheme === 'sqlite') return (await sqliteDoor()).sqliteCopySource(place.path)
  return (await postgresDoor()).postgresCopySource(url)
}

async function openTarget(url: string): Promise<CopyableTarget> {
  const place = placeOf(url)
  if (place.scheme === 'sqlite') return (await sqliteDoor()).sqliteCopyTarget(place.path)
  return (await postgresDoor()).postgresCopyTarget(url)
}

/** By another spelling, a link or a second name. */
function areSameFile(from: string, to: string): boolean {
  const [one, other] = [from, to].map(placeOf)
  if (one?.scheme !== 'sqlite' || other?.scheme !== 'sqlite') return false
  const [here, there] = [one.path, other.path].map(path => statSync(path, { throwIfNoEntry: false }))
  return here !== undefined && there !== undefined && here.dev === there.dev && here.ino === there.ino
}

function placeOf(url: string): { scheme: 'sqlite'; path: string } | { scheme: 'postgres' } {
  const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ''
  if (path !== '' && path !== ':memory:') return { scheme: 'sqlite', path }
  if (/^postgres(ql)?:/.test(url)) return { scheme: 'postgres' }
  const named = withoutPassword(url)
  throw new StoreUnusable(`"${named}" names no store that lasts. Use sqlite:path or postgres://….`, { url: named })
}
