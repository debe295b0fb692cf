/** The caller of a request, with its scope and projects. */
import { AccessRefused } from '../../errors.ts'
import type { AccessScope } from '../contract/endpoint.ts'

export type TokenScope = 'read' | 'write' | 'admin'

export interface Principal {
  /** The actor of its writes. */
  name: string
  scope: TokenScope
  projects: 'all' | readonly string[]
  /** Its credentials. A browser sends a cookie by itself, so a cookie needs further checks. */
  by: 'token' | 'cookie'
}

const ranks = { open: 0, read: 1, write: 2, admin: 3 } as const

/** @throws {AccessRefused} when the scope is too small */
export function demandScope(principal: Principal, needed: AccessScope): void {
  if (ranks[principal.scope] >= ranks[needed]) return
  throw new AccessRefused(`This needs a token with the scope ${needed}; "${principal.name}" has ${principal.scope}.`, {
    needed,
    scope: principal.scope,
  })
}

/** @throws {AccessRefused} when the token is of other projects */
export function demandProject(principal: Principal, project: string): void {
  if (principal.projects === 'all' || principal.projects.includes(project)) return
  throw new AccessRefused(`The token "${principal.name}" is not valid for project "${project}".`, { project })
}

/** @throws {AccessRefused} when the token is of some projects only */
export function demandAllProjects(principal: Principal): void {
  if (principal.projects === 'all') return
  throw new AccessRefused('This shows all projects; it needs a token that is valid for all of them.')
}
