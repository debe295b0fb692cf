/**
 * The settings that our statements need: where the tables are, how long to wait, how to plan, and which project row-level
 * security shows.
 *
 * A connection that is ours alone gets most of them when it is opened. The project, and behind a pooler all of them, are
 * set for each transaction and gone with it, so that the next client of the same connection does not have them.
 */
import pg from 'pg'
import type { ServerUrl } from './url.ts'

export type Settings = Readonly<Record<string, string>>

export interface SettingsInput {
  url: ServerUrl
  durability: 'full' | 'relaxed'
  readOnly: boolean
  busyTimeoutMs: number
}

/** For the whole of a connection. */
export function connectionSettings({ url, durability, readOnly, busyTimeoutMs }: SettingsInput): Settings {
  return {
    search_path: url.schema,
    // With synchronous standbys, 'on' waits for them too.
    synchronous_commit: durability === 'full' ? 'on' : 'off',
    statement_timeout: '600s',
    lock_timeout: `${busyTimeoutMs}ms`,
    // A process that is stopped in the middle of a transaction must not hold others up for longer.
    idle_in_transaction_session_timeout: '30s',
    default_transaction_read_only: readOnly ? 'on' : 'off',
    // A plan made for one size of batch, or while a table was small, must serve the others. Every statement has an index,
    // and is over before compiling it would pay.
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    enable_material: 'off',
    jit: 'off',
  }
}

/** For each transaction; undefined when the connection's own settings are all. */
export function transactionSettings(input: SettingsInput): Settings | undefined {
  const { project, isPooled } = input.url
  const { default_transaction_read_only: _, ...rest } = connectionSettings(input)
  const settings = {
    ...(isPooled && rest),
    // Too late for the default: the transaction has begun.
    ...(isPooled && input.readOnly && { transaction_read_only: 'on' }),
    ...(project !== undefined && { 'colloquy.project': project }),
  }
  return Object.keys(settings).length === 0 ? undefined : settings
}

/** The options that a connection is opened with. */
export function startupOptions(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replace(/[\\\s]/g, '\\$&')}`)
    .join(' ')
}

/** A statement that sets them until the transaction ends. */
export function setLocally(settings: Settings): string {
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config('${name}', ${pg.escapeLiteral(value)}, true)`,
  )
  return `select ${calls.join(', ')}`
}
