/**
 * Names and ids as people and systems choose them: any script, slashes, dots and quotes included.
 *
 * Ids are opaque: nothing here or elsewhere takes one apart. Refused are only the empty one, one longer than 512 bytes,
 * and text that is not well formed (NUL bytes, lone surrogates), which databases and wires would cut or change.
 */
import { z } from 'zod'

export const maximumIdBytes = 512

// Not Buffer: browsers check ids by the same rule.
const utf8 = new TextEncoder()

/** What is wrong with `value` as an id, or undefined. */
export function idProblem(value: string): string | undefined {
  // Whoever calls without types can hand in anything.
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
