/** Loads the module of a store at its first use: a program with SQLite does not read the PostgreSQL client. */
import { StoreUnusable } from '../errors.ts'

/** Cached, because a repeated `import()` is slow. */
let sqlite: typeof import('../stores/sqlite/index.ts') | undefined
let postgres: typeof import('../stores/postgres/index.ts') | undefined

/** @throws {StoreUnusable} when the compiled SQLite library cannot be loaded on this machine */
export async function sqliteDoor(): Promise<typeof import('../stores/sqlite/index.ts')> {
  try {
    sqlite ??= await import('../stores/sqlite/index.ts')
    return sqlite
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error).split('\n')
    throw new StoreUnusable(
      `SQLite cannot be loaded here (${reason}). No store was opened. If node_modules was copied from another machine, install again on this one. If colloquy is bundled into another file, keep the package external. If there is no build for this machine, 'npm rebuild @photostructure/sqlite' makes one with a C++ compiler.`,
      {},
      { cause: error },
    )
  }
}

export async function postgresDoor(): Promise<typeof import('../stores/postgres/index.ts')> {
  postgres ??= await import('../stores/postgres/index.ts')
  return postgres
}
