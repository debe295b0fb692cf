/** Where we are and how we get elsewhere. The address is the state: what it says can be sent to somebody. */
import { type ComponentProps, useMemo, useSyncExternalStore } from 'react'
import { type Address, address, parseAddress } from './address.ts'

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  return () => removeEventListener('hashchange', listener)
}

export function useAddress(): Address {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  return useMemo(() => parseAddress(hash), [hash])
}

export function useQuery(name: string): string | undefined {
  return useAddress().query[name]
}

/** `replace`: without a step in the browser's history, as for a slider. */
export function go(to: string, { replace = false } = {}): void {
  if (location.hash === to) return
  if (!replace) {
    location.hash = to
    return
  }
  history.replaceState(null, '', to)
  // A replaced address tells nobody.
  dispatchEvent(new HashChangeEvent('hashchange'))
}

/** The same place with another query; undefined takes a name out. */
export function goWith(query: Record<string, string | number | undefined>, options: { replace?: boolean } = {}): void {
  const now = parseAddress(location.hash)
  go(address(now.segments, { ...now.query, ...query }), options)
}

export function Link({ to, ...rest }: { to: string } & Omit<ComponentProps<'a'>, 'href'>) {
  return <a href={to} {...rest} />
}
