/** Routing by hash. The address is the state, so it can be shared as a link. */
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

/** `replace` adds no entry to the browser's history, as for a slider. */
export function go(to: string, { replace = false } = {}): void {
  if (location.hash === to) return
  if (!replace) {
    location.hash = to
    return
  }
  history.replaceState(null, '', to)
  // `replaceState` fires no event of its own.
  dispatchEvent(new HashChangeEvent('hashchange'))
}

/** Changes the query of the current address; undefined removes a name. */
export function goWith(query: Record<string, string | number | undefined>, options: { replace?: boolean } = {}): void {
  const now = parseAddress(location.hash)
  go(address(now.segments, { ...now.query, ...query }), options)
}

export function Link({ to, ...rest }: { to: string } & Omit<ComponentProps<'a'>, 'href'>) {
  return <a href={to} {...rest} />
}
