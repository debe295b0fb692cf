/**
 * What we ask of the server beside our statements: where our tables are, how long to wait, how to plan, and which project
 * row-level security lets us see.
 *
 * A connection that is ours alone gets most of it when it is opened. The project, and behind a pooler all of it, is set
 * for each transaction and gone with it, so that nobody who is given the same connection of the server later has it.
 */
import type { Place } from './url.ts'

export type Settings = Readonly<Record<string, string>>

export interface SettingsInput {
  place: Place
  durability: 'full' | 'relaxed'
  readOnly: boolean
  busyTimeoutMs: number
}

/** For the whole of a connection. */
export function connectionSettings({ place, durability, readOnly, busyTimeoutMs }: SettingsInput): Settings {
  return {
    search_path: place.schema,
    // With synchronous standbys, 'on' waits for them too.
    synchronous_commit: durability === 'full' ? 'on' : 'off',
    statement_timeout: '600s',
    lock_timeout: `${busyTimeoutMs}ms`,
    // A node that stops in the middle must not hold others up for ever.
    idle_in_transaction_session_timeout: '30s',
    default_transaction_read_only: readOnly ? 'on' : 'off',
    // A plan made for one size of batch serves the others; and one made while a table was small must serve when it has
    // grown. Everything we ask has an index for it, and is over before compiling it would pay.
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
  const { project, isPooled } = input.place
  const { default_transaction_read_only: _, ...rest } = connectionSettings(input)
  const settings = {
    ...(isPooled && rest),
    // Too late for the default: the transaction has begun.
    ...(isPooled && input.readOnly && { transaction_read_only: 'on' }),
    ...(project !== undefined && { 'colloquy.project': project }),
  }
  return Object.keys(settings).length === 0 ? undefined : settings
}

/** As the options a connection is opened with. */
export function startupOptions(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replace(/[\\\s]/g, '\\$&')}`)
    .join(' ')
}

/** As one statement and its values; they last until the transaction ends. */
export function localSettings(settings: Settings): { text: string; values: string[] } {
  const names = Object.keys(settings)
  return {
    text: `select ${names.map((name, index) => `set_config('${name}', $${index + 1}, true)`).join(', ')}`,
    values: names.map(name => settings[name]!),
  }
}
