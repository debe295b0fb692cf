/** The doors of the stores, each loaded when it is first needed: nobody pays for one they do not use. */
import { StoreUnusable } from '../errors.ts'

/** Kept, because asking the loader again takes as long as opening the file. */
let sqlite: typeof import('../stores/sqlite/index.ts') | undefined
let postgres: typeof import('../stores/postgres/index.ts') | undefined

/** @throws {StoreUnusable} when SQLite, which is compiled for each kind of machine, cannot be loaded on this one */
export async function sqliteDoor(): Promise<typeof import('../stores/sqlite/index.ts')> {
  try {
    sqlite ??= await import('../stores/sqlite/index.ts')
    return sqlite
  } catch (error) {
    const [why] = String(error instanceof Error ? error.message : error).split('\n')
    throw new StoreUnusable(
      `SQLite cannot be loaded here (${why}). Was node_modules copied from another machine: install again on this one. Is colloquy bundled into another file: keep the package external. Is there no build for this machine: 'npm rebuild @photostructure/sqlite' makes one with a C++ compiler.`,
      {},
      { cause: error },
    )
  }
}

export async function postgresDoor(): Promise<typeof import('../stores/postgres/index.ts')> {
  postgres ??= await import('../stores/postgres/index.ts')
  return postgres
}
