/** The parts of a conversation manager for teams: one per concept, over the same access. */
import type { Engine, Scope, WriteOptions } from '../../log/engine.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import { conversationAccess } from '../access/conversation-access.ts'
import type { Scribe } from '../access/prepare-message.ts'
import { settleRuns } from './crashed-runs.ts'
import { Delegations } from './delegations.ts'
import { type ExecutionKeeper, Executions } from './execution-time.ts'
import { Phases } from './phases.ts'
import { Questions } from './questions.ts'
import { ReadFiles } from './read-files.ts'
import type { TeamSettings } from './team-settings.ts'
import { Turns } from './turns.ts'

export interface Team {
  readonly settings: TeamSettings
  readonly phases: Phases
  readonly turns: Turns
  readonly delegations: Delegations
  readonly files: ReadFiles
  readonly executions: Executions
  readonly questions: Questions
  /** Ends the runs of a conversation that died. Returns how many. */
  settleRuns(head: ConversationHead, options?: WriteOptions): Promise<number>
}

export function team(parts: {
  engine: Engine
  scope: Scope
  scribe: Scribe
  settings: TeamSettings
  keeper: ExecutionKeeper
  /** The project's folder, if it has one. */
  root: string | undefined
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
    questions: new Questions(access),
    settleRuns: (head, options) => settleRuns(access, head, options),
  }
}
