/**
 * Ids of calls as providers take them. A conversation may have had other models and other programs before, and what one
 * of them called a call, another refuses.
 */
import { createHash } from 'node:crypto'

/** Anthropic takes letters, digits, `_` and `-`. */
export function plainCallId(id: string): string {
  return /^[\w-]+$/.test(id) ? id : `call_${digest(id)}`
}

/** OpenAI takes no more than 40 characters. */
export function shortCallId(id: string): string {
  return id.length <= 40 && id !== '' ? id : `call_${digest(id)}`
}

/** Mistral takes nine letters and digits. */
export function nineCharacterCallId(id: string): string {
  return /^[a-z0-9]{9}$/i.test(id) ? id : digest(id).slice(0, 9)
}

function digest(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 24)
}
