/** What is done to a store as a whole: looking at it, bringing it to today's schema, copying it into another. */
import { statSync } from 'node:fs'
import { StoreUnusable } from '../errors.ts'
import type { StoreStatus } from '../log/status.ts'
import type { Store } from '../log/store.ts'
import { withoutPassword } from '../log/store-address.ts'
import { type CopiedProject, copyProject } from '../log/upkeep/copy-project.ts'
import { openColloquy } from './open.ts'
import { postgresDoor, sqliteDoor } from './store-doors.ts'

export type { CopiedProject, StoreStatus }

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
  onProgress?: (progress: { project: string; done: number; total: number }) => void
  /** Called with each project when it is copied. */
  onProject?: (project: CopiedProject) => void
}

/**
 * Copies projects from one store into another, of the same kind or not: each conversation as the lines of its archive, with
 * every hash, and the project's idempotency keys and purges. Leases and the order between conversations are not copied.
 *
 * Nothing is written to the source. A copy that was interrupted goes on when it is called again: what is there already is
 * compared and left as it is.
 *
 * @throws {IllegalState} when a conversation is in the target and ends differently there
 */
export async function copyStore(options: CopyStoreOptions): Promise<CopiedProject[]> {
  const { from, to, onProgress, onProject } = options
  const names = { from: withoutPassword(from), to: withoutPassword(to) }
  if (from === to || areSameFile(from, to)) throw new StoreUnusable('A store cannot be copied into itself.', names)
  const source = await openStore(from, { readOnly: true })
  try {
    const projects = await source.projects()
    const wanted = options.projects ?? [...projects].sort()
    for (const project of wanted) {
      if (!projects.includes(project)) throw noProject(names.from, project, projects)
    }
    const target = await openStore(to)
    try {
      const copied: CopiedProject[] = []
      for (const project of wanted) {
        const result = await copyProject({
          from: { name: names.from, run: source.upkeep },
          to: { name: names.to, run: target.upkeep },
          project,
          onProgress: (done, total) => onProgress?.({ project, done, total }),
        })
        copied.push(result)
        onProject?.(result)
      }
      return copied
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

function noProject(place: string, project: string, projects: readonly string[]): StoreUnusable {
  const hint = projects.length === 0 ? 'It has none.' : `It has: ${projects.join(', ')}.`
  return new StoreUnusable(`There is no project "${project}" in ${place}. ${hint}`, { project, projects })
}

async function openStore(url: string, { readOnly = false } = {}): Promise<Store> {
  const place = placeOf(url)
  const options = { clock: Date.now, readOnly }
  if (place.scheme === 'sqlite') return (await sqliteDoor()).sqliteStore(place.path, options)
  return (await postgresDoor()).postgresStore(url, options)
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
