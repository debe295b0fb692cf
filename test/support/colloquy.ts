/**
 * A Colloquy for one test, on a real file, with a clock the test moves. `COLLOQUY_TEST_STORE=postgres` runs the same tests
 * on a server.
 */
import { join } from 'node:path'
import { type Colloquy, type OpenOptions, openColloquy } from 'colloquy'
import { onTestFinished } from 'vitest'
import { freshSchema } from './postgres.ts'
import { temporaryFolder } from './temporary.ts'

export interface FreshColloquy {
  colloquy: Colloquy
  /** The URL of its store, to open it a second time. */
  store: string
  folder: string
  /** The clock, for others that open the same store. */
  now(): number
  /** Moves the clock on. */
  pass(milliseconds: number): void
  /** Closes and opens it again, as after a restart. */
  reopen(): Promise<Colloquy>
}

export const hour = 60 * 60 * 1000

export async function freshColloquy(options: OpenOptions = {}): Promise<FreshColloquy> {
  const folder = temporaryFolder()
  const store = options.store ?? (await freshStore(folder))
  let now = Date.parse('2026-11-15T10:00:00Z')
  const settings: OpenOptions = {
    project: 'shop',
    tokens: 'fast',
    sweepEveryMs: null,
    archives: join(folder, 'archives'),
    clock: () => now++,
    ...options,
    store,
  }
  let colloquy = await openColloquy(settings)
  onTestFinished(() => colloquy.close())
  return {
    get colloquy() {
      return colloquy
    },
    store,
    folder,
    now: () => now++,
    pass: milliseconds => {
      now += milliseconds
    },
    async reopen() {
      await colloquy.close()
      colloquy = await openColloquy(settings)
      return colloquy
    },
  }
}

async function freshStore(folder: string): Promise<string> {
  if (process.env.COLLOQUY_TEST_STORE === 'postgres') return (await freshSchema()).url
  return `sqlite:${join(folder, 'colloquy.db')}`
}
