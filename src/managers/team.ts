/** What a conversation manager has for teams: one part per concept, over the same access. */
import type { Engine, Scope } from '../engine.ts'
import { conversationAccess } from './conversation-access.ts'
import { Delegations } from './delegations.ts'
import { type ExecutionKeeper, Executions } from './execution-time.ts'
import { Phases } from './phases.ts'
import { ReadFiles } from './read-files.ts'
import type { Scribe } from './scribe.ts'
import type { TeamSettings } from './team-settings.ts'
import { Turns } from './turns.ts'

export interface Team {
  readonly settings: TeamSettings
  readonly phases: Phases
  readonly turns: Turns
  readonly delegations: Delegations
  readonly files: ReadFiles
  readonly executions: Executions
}

export function team(parts: {
  engine: Engine
  scope: Scope
  scribe: Scribe
  settings: TeamSettings
  keeper: ExecutionKeeper
  /** The project's folder. */
  root: string
}): Team {
  const access = conversationAccess(parts.engine, parts.scope)
  const { settings } = parts
  return {
    settings,
    phases: new Phases(access, settings.phases),
    turns: new Turns(access, settings),
    delegations: new Delegations(access, parts.scribe, settings.phases),
    files: new ReadFiles(access, parts.root),
    executions: new Executions(access, parts.keeper),
  }
}
