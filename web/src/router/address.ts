/** Addresses behind the `#`, such as `#/shop/conversations/ID?at=12`: parsed and formatted. Pure. */

export interface Address {
  /** Decoded; empty segments are left out. */
  segments: readonly string[]
  query: Readonly<Record<string, string>>
}

export function parseAddress(hash: string): Address {
  const text = hash.replace(/^#/, '')
  const [path = '', query = ''] = text.split('?', 2)
  return {
    segments: path
      .split('/')
      .filter(segment => segment !== '')
      .map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

/** Undefined values are left out. */
export function address(segments: readonly string[], query: Record<string, string | number | undefined> = {}): string {
  const said = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) said.set(name, String(value))
  const text = said.toString()
  return `#/${segments.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

export type Params = Readonly<Record<string, string>>

/**
 * Returns the parameters of a pattern such as `:project/conversations/:conversation`, or undefined for another address.
 */
export function match(pattern: string, { segments }: Address): Params | undefined {
  const wanted = pattern.split('/').filter(segment => segment !== '')
  if (wanted.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, want] of wanted.entries()) {
    const given = segments[index]!
    if (want.startsWith(':')) params[want.slice(1)] = given
    else if (want !== given) return undefined
  }
  return params
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
