/**
 * Names and ids chosen by people and systems: any script, slashes, dots and quotes included.
 *
 * Ids are opaque and never parsed. Refused are empty ids, ids over 512 bytes, and malformed text (NUL bytes, lone
 * surrogates), which databases and wires would cut or change.
 */
import { z } from 'zod'

export const maximumIdBytes = 512

// Not Buffer, because browsers check ids with the same code.
const utf8 = new TextEncoder()

/** Returns the reason why `value` cannot be an id, or undefined. */
export function idProblem(value: string): string | undefined {
  // Untyped callers can pass anything.
  if (typeof value !== 'string') return 'must be text'
  if (value.length === 0) return 'must not be empty'
  if (value.length * 3 > maximumIdBytes && utf8.encode(value).length > maximumIdBytes)
    return `must not be longer than ${maximumIdBytes} bytes`
  if (value.includes('\0')) return 'must not contain NUL bytes'
  if (!value.isWellFormed()) return 'must be well-formed text (it contains a lone surrogate)'
  return undefined
}

export const Id = z.string().check(context => {
  const problem = idProblem(context.value)
  if (problem) context.issues.push({ code: 'custom', message: problem, input: context.value })
})
