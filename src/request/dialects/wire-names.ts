/**
 * Names and ids of tool calls in the alphabets of the providers.
 *
 * A conversation may have had other models and other programs before, and what one of them called a tool or a call,
 * another refuses. A name that already fits stays; any other becomes the same substitute each time.
 */

/** Anthropic takes letters, digits, `_` and `-`. */
export function plainCallId(id: string): string {
  return /^[\w-]{1,64}$/.test(id) ? id : `call_${digest(id)}`
}

/** OpenAI takes no more than 40 characters. */
export function shortCallId(id: string): string {
  return /^[\w-]{1,40}$/.test(id) ? id : `call_${digest(id)}`
}

/** Mistral takes nine letters and digits. */
export function nineCharacterCallId(id: string): string {
  return /^[a-z0-9]{9}$/i.test(id) ? id : digest(id).slice(0, 9)
}

/** A tool's name that every provider takes: a letter or `_`, then letters, digits, `_` and `-`, 64 characters at most. */
export function wireToolName(name: string): string {
  if (/^[a-z_][\w-]{0,63}$/i.test(name)) return name
  const readable = name.replace(/[^\w-]+/g, '_').slice(0, 40)
  return `${/^[a-z_]/i.test(readable) ? '' : 'tool_'}${readable}_${digest(name).slice(0, 8)}`
}

/** True for a name that may stand for another one. */
export function isSubstituteName(wireName: string): boolean {
  return /_[0-9a-f]{8}$/.test(wireName)
}

/** Finds the tool that a provider means by a name that `wireToolName` made. */
export function toolNameFrom(wireName: string, names: Iterable<string>): string {
  for (const name of names) if (wireToolName(name) === wireName) return name
  return wireName
}

/** FNV-1a in three lanes: not for secrets, only the same each time, in browsers too. */
function digest(text: string): string {
  const lanes = [0x811c9dc5, 0x1000193, 0x9e3779b9]
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    for (let lane = 0; lane < lanes.length; lane++)
      lanes[lane] = Math.imul(lanes[lane]! ^ (code + lane), 0x01000193 + 2 * lane)
  }
  return lanes.map(lane => (lane >>> 0).toString(16).padStart(8, '0')).join('')
}
