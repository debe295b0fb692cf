/** Calls on whole stores: their status, migration, and copies. */
import { statSync } from 'node:fs'
import { StoreUnusable } from '../errors.ts'
import type { StoreStatus } from '../log/status.ts'
import type { StoreCalls } from '../log/store.ts'
import { withoutPassword } from '../log/store-address.ts'
import { type CopiedProject, copyProject } from '../log/upkeep/copy-project.ts'
import { openColloquy } from './open.ts'
import { postgresDoor, sqliteDoor } from './store-doors.ts'

export type { CopiedProject, StoreStatus }

/**
 * Reports the schema, size and projects of a store. Changes nothing.
 *
 * @throws {StoreUnusable} when there is no store
 */
export async function storeStatus(url: string): Promise<StoreStatus> {
  const place = placeOf(url)
  if (place.scheme === 'sqlite') return (await sqliteDoor()).sqliteStatus(place.path)
  return (await postgresDoor()).postgresStatus(url)
}

/** Brings a store to the current schema. Opening it for writing does the same. */
export async function migrateStore(url: string): Promise<{ from: number; to: number }> {
  const { schema: from } = await storeStatus(url)
  const colloquy = await openColloquy({ store: url, sweepEveryMs: null, tokens: 'fast' })
  await colloquy.close()
  return { from, to: (await storeStatus(url)).schema }
}

export interface CopyStoreOptions {
  from: string
  to: string
  /** Default: all projects of the source. */
  projects?: readonly string[]
  onProgress?: (progress: { project: string; done: number; total: number }) => void
  /** Called after each copied project. */
  onProject?: (project: CopiedProject) => void
}

/**
 * Copies projects from one store into another, of the same kind or not: each conversation as the lines of its archive, with
 * every hash, and the project's idempotency keys and purges. Leases and the order between conversations are not copied.
 *
 * The source is only read. An interrupted copy is resumed by calling it again: conversations that exist in the target are
 * compared and stay unchanged.
 *
 * @throws {IllegalState} when a conversation of the target differs from its source
 */
export async function copyStore(options: CopyStoreOptions): Promise<CopiedProject[]> {
  const { from, to, onProgress, onProject } = options
  const addresses = { from: withoutPassword(from), to: withoutPassword(to) }
  if (from === to || areSameFile(from, to))
    throw new StoreUnusable('A store cannot be copied into itself. Nothing was copied; name another target.', addresses)
  const source = await openStore(from, { readOnly: true })
  try {
    const projects = await source.projects()
    const requestedProjects = options.projects ?? [...projects].sort()
    for (const project of requestedProjects) {
      if (!projects.includes(project)) throw noProject(addresses.from, project, projects)
    }
    const target = await openStore(to)
    try {
      const copied: CopiedProject[] = []
      for (const project of requestedProjects) {
        const result = await copyProject({
          from: { name: addresses.from, run: source.upkeep },
          to: { name: addresses.to, run: target.upkeep },
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
  return new StoreUnusable(`There is no project "${project}" in ${place}. Nothing was copied. ${hint}`, {
    project,
    projects,
  })
}

async function openStore(url: string, { readOnly = false } = {}): Promise<StoreCalls> {
  const place = placeOf(url)
  const options = { clock: Date.now, readOnly }
  if (place.scheme === 'sqlite') return (await sqliteDoor()).sqliteStore(place.path, options)
  return (await postgresDoor()).postgresStore(url, options)
}

/** True also for another spelling, a symbolic link or a hard link. */
function areSameFile(from: string, to: string): boolean {
  const source = placeOf(from)
  const target = placeOf(to)
  if (source.scheme !== 'sqlite' || target.scheme !== 'sqlite') return false
  const sourceFile = statSync(source.path, { throwIfNoEntry: false })
  const targetFile = statSync(target.path, { throwIfNoEntry: false })
  return sourceFile !== undefined && sourceFile.dev === targetFile?.dev && sourceFile.ino === targetFile.ino
}

function placeOf(url: string): { scheme: 'sqlite'; path: string } | { scheme: 'postgres' } {
  const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ''
  if (path !== '' && path !== ':memory:') return { scheme: 'sqlite', path }
  if (/^postgres(ql)?:/.test(url)) return { scheme: 'postgres' }
  const address = withoutPassword(url)
  throw new StoreUnusable(`"${address}" is not the address of a permanent store. Use sqlite:path or postgres://….`, {
    url: address,
  })
}
