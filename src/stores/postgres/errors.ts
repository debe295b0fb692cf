/** Turns the server's and the network's errors into ours, by SQLSTATE and by the system's codes. */
import {
  ColloquyError,
  IllegalState,
  StoreBusy,
  StoreDamaged,
  StoreFailed,
  StoreFull,
  StoreReadOnly,
  StoreUnusable,
} from '../../errors.ts'

/** Returns the server's five characters, or the system's name for the error; undefined when it has neither. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

const networkCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** The server ended the connection because its transaction said nothing for too long. */
const idleTooLong = '25P03'

/** True when the connection or the server went away: another try may find it back. */
export function isLostConnection(error: unknown): boolean {
  if (error instanceof ColloquyError) return false
  const code = codeOf(error)
  if (
    code !== undefined &&
    (code.startsWith('08') || code.startsWith('57P') || networkCodes.has(code) || code === idleTooLong)
  )
    return true
  // The driver has no code for a socket that closed under it, nor for a connection it waited too long for.
  return (
    error instanceof Error &&
    /Connection terminated|not queryable|closed the connection|Connection ended|timeout exceeded when trying to connect/i.test(
      error.message,
    )
  )
}

/** True when the server rolled the transaction back because of another one; nothing was written. */
export function isCollision(error: unknown): boolean {
  const code = codeOf(error)
  return code === '40001' || code === '40P01'
}

/** True when a row breaks a rule of the tables: another process wrote the same thing, or it cannot be. */
export function isConstraint(error: unknown): boolean {
  return codeOf(error)?.startsWith('23') ?? false
}

export function asStoreError(error: unknown, place: string): Error {
  if (error instanceof ColloquyError) return error
  const code = codeOf(error)
  const facts = { place, postgres: error instanceof Error ? error.message : String(error), sqlstate: code }
  const because: ErrorOptions = { cause: error }
  if (isLostConnection(error)) {
    return new StoreFailed(
      `The server of ${place} cannot be reached (${facts.postgres}). What was not acknowledged may or may not be stored; try again with the same idempotency key.`,
      facts,
      because,
    )
  }
  if (code === undefined) return error instanceof Error ? error : new Error(String(error))
  if (isConstraint(error)) {
    return new IllegalState(
      'Another process changed the same thing at the same moment. Nothing was written; try again.',
      facts,
      because,
    )
  }
  if (code === '55P03' || code === '57014' || isCollision(error)) {
    return new StoreBusy(
      `${place}: other processes held the same rows for too long. Nothing was written; try again.`,
      facts,
      because,
    )
  }
  if (code === '53100' || code === '53200') {
    return new StoreFull(`The server of ${place} has no room left. Nothing was written; free some.`, facts, because)
  }
  if (code === '25006' || code === '42501') {
    return new StoreReadOnly(`${place} may not be written: ${facts.postgres}.`, facts, because)
  }
  if (code.startsWith('XX')) {
    return new StoreDamaged(`The server of ${place} reports damage: ${facts.postgres}.`, facts, because)
  }
  if (code.startsWith('28') || code.startsWith('3D') || code.startsWith('3F') || code.startsWith('42')) {
    return new StoreUnusable(`${place} cannot be used: ${facts.postgres}.`, facts, because)
  }
  return new StoreFailed(
    `${place}: ${facts.postgres}. What was not acknowledged may or may not be stored.`,
    facts,
    because,
  )
}
