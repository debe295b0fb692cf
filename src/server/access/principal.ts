/** Who asks, and what they may. */
import { AccessRefused } from '../../errors.ts'
import type { AccessScope } from '../contract/endpoint.ts'

export type TokenScope = 'read' | 'write' | 'admin'

export interface Principal {
  /** The actor of what they write. */
  name: string
  scope: TokenScope
  projects: 'all' | readonly string[]
  /** What they showed. A cookie comes along by itself, so it needs more to be believed. */
  by: 'token' | 'cookie'
}

const ranks = { open: 0, read: 1, write: 2, admin: 3 } as const

/** @throws {AccessRefused} when the scope is too small */
export function demandScope(principal: Principal, needed: AccessScope): void {
  if (ranks[principal.scope] >= ranks[needed]) return
  throw new AccessRefused(`This takes a token with the scope ${needed}; "${principal.name}" has ${principal.scope}.`, {
    needed,
    scope: principal.scope,
  })
}

/** @throws {AccessRefused} when the token is of other projects */
export function demandProject(principal: Principal, project: string): void {
  if (principal.projects === 'all' || principal.projects.includes(project)) return
  throw new AccessRefused(`The token "${principal.name}" is not good for project "${project}".`, { project })
}

/** @throws {AccessRefused} when the token is of some projects only */
export function demandAllProjects(principal: Principal): void {
  if (principal.projects === 'all') return
  throw new AccessRefused('This shows all projects; it takes a token that is good for all of them.')
}
