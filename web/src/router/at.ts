/**
 * Time travel: the version every panel shows, from `?at=` of the address. Undefined is now.
 *
 * A panel that reads something of a conversation asks for it here and shows it as it was.
 */
import { goWith, useQuery } from './router.tsx'

export function useAt(): number | undefined {
  const said = useQuery('at')
  return said !== undefined && /^[1-9]\d{0,14}$/.test(said) ? Number(said) : undefined
}

export function travelTo(version: number | undefined): void {
  goWith({ at: version }, { replace: true })
}
