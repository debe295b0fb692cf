/** Opens the store that the options name, lets a command work with it, and closes it whatever happens. */
import { userInfo } from 'node:os'
import type { Configuration } from '../app/configuration/options.ts'
import { NotFound, StoreReadOnly, StoreUnusable } from '../errors.ts'
import type { Colloquy, OpenOptions } from '../index.ts'
import { withoutPassword } from '../log/store-address.ts'
import { Located } from './failure.ts'
import { storePlace } from './lookup/store-path.ts'
import type { GlobalOptions } from './options.ts'

/** Loaded when a store is there to be opened: help and wrong usage need not wait for the whole library. */
const openColloquy = async (options: OpenOptions) => (await import('../index.ts')).openColloquy(options)

type Work<T> = (colloquy: Colloquy) => Promise<T>

/** For commands that change nothing. */
export function reading<T>(options: GlobalOptions & Pick<OpenOptions, 'phases'>, work: Work<T>): Promise<T> {
  return using(options, openForReading, work)
}

/** For commands that change something. */
export function writing<T>(
  options: GlobalOptions & Pick<OpenOptions, 'archives' | 'phases'>,
  work: Work<T>,
): Promise<T> {
  return using(options, openColloquy, work)
}

/**
 * Opens for commands that write nothing but the search index, and falls back to reading where nothing can be written.
 * Reading is not tried first: only a writer notes that a file was copied, and otherwise the index would be rebuilt.
 */
export async function indexing<T>(options: GlobalOptions, work: Work<T>): Promise<T> {
  try {
    return await writing(options, work)
  } catch (error) {
    if (!(error instanceof StoreReadOnly || error instanceof StoreUnusable)) throw error
    return reading(options, work)
  }
}

/** For commands that work with agents: the store is made where there is none yet. */
export function making<T>(options: GlobalOptions, work: Work<T>): Promise<T> {
  return using(options, openColloquy, work, { mayMake: true })
}

async function using<T>(
  options: GlobalOptions & Pick<OpenOptions, 'archives' | 'phases'>,
  open: (options: OpenOptions) => Promise<Colloquy>,
  work: Work<T>,
  { mayMake = false }: { mayMake?: boolean } = {},
): Promise<T> {
  const configuration = await configurationOf(options)
  const { url } = storePlace(options.store ?? configuration.store, { mayMake })
  const colloquy = await open({
    ...configuration,
    store: url,
    ...(options.project !== undefined && { project: options.project }),
    ...(options.archives !== undefined && { archives: options.archives }),
    ...(options.phases !== undefined && { phases: options.phases }),
    actor: userName(),
    channel: 'cli',
    // A command is over long before the first sweep.
    sweepEveryMs: null,
  })
  try {
    return await work(colloquy)
  } catch (error) {
    throw error instanceof NotFound ? await located(error, colloquy, withoutPassword(url)) : error
  } finally {
    await colloquy.close()
  }
}

/** Reads the settings of the project's configuration file and of the environment. */
export async function configurationOf({ config }: GlobalOptions): Promise<Configuration> {
  const { readConfiguration } = await import('../app/configuration/configuration-reader.ts')
  return readConfiguration(config === undefined ? {} : { file: config })
}

/**
 * Opening a file whose last writer was killed can need a write, to recover its write-ahead log. So when SQLite refuses for
 * want of writing, and only then, the file is opened as any other program would open it.
 */
async function openForReading(options: OpenOptions): Promise<Colloquy> {
  try {
    return await openColloquy({ ...options, readOnly: true })
  } catch (error) {
    if (!(error instanceof StoreReadOnly)) throw error
    // The first error says what is wrong with the place; that it cannot be written either adds nothing.
    return openColloquy(options).catch(() => Promise.reject(error))
  }
}

/** The project is the usual reason why something is not found, so say where we looked and what else there is. */
async function located(error: NotFound, colloquy: Colloquy, store: string): Promise<Located> {
  const { project } = colloquy
  const projects = await colloquy.projects()
  return new Located(error, `Looked in project "${project}" of ${store}.${otherProjects(project, projects)}`, {
    project,
    store,
    projects,
  })
}

export function otherProjects(project: string, projects: readonly string[]): string {
  const others = projects.filter(one => one !== project)
  return others.length === 0 ? '' : ` It also has: ${others.join(', ')} (--project NAME).`
}

export function userName(): string {
  try {
    return userInfo().username || 'unknown'
  } catch {
    // A container may run as a user that has no name.
    return process.env.USER || 'unknown'
  }
}
