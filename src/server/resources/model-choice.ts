/** Restricts the models a caller may choose: a name can start a program, read a file or send to an address. */
import { AccessRefused } from '../../errors.ts'
import type { Colloquy } from '../../index.ts'
import { isProvidersModel } from '../../models/providers.ts'
import type { Principal } from '../access/principal.ts'

/** @throws {AccessRefused} when the name is neither the project's own nor a provider's, and the token is no admin's */
export function demandModel(principal: Principal, name: string, { agents }: Pick<Colloquy, 'agents'>): void {
  if (principal.scope === 'admin' || isProvidersModel(name) || agents.configuredModels().includes(name)) return
  throw new AccessRefused(
    'Models that start a program, read a file or are at an address of their own must be in the configuration, or be chosen with an admin token.',
    { model: name.slice(0, 200), needed: 'admin', scope: principal.scope },
  )
}
