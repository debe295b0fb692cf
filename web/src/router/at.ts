/**
 * Time travel: the version that every panel shows, from `?at=` of the address. Undefined means now.
 *
 * Every panel that reads a conversation uses this hook.
 */
import { goWith, useQuery } from './router.tsx'

export function useAt(): number | undefined {
  const said = useQuery('at')
  return said !== undefined && /^[1-9]\d{0,14}$/.test(said) ? Number(said) : undefined
}

export function travelTo(version: number | undefined): void {
  goWith({ at: version }, { replace: true })
}
