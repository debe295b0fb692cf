/** Progress of a team, for display. It is not stored; the log has the facts. */

import type { LandingOutcome } from '../../log/events/work/landing.ts'
import type { CheckResult, RalphOutcome } from '../../log/events/work/ralph.ts'
import type { Verdict } from '../../log/events/work/review.ts'
import type { LivePart } from '../runs/live-channel.ts'

export type TeamProgress =
  /** Another process, which may be dead, holds the lease until that ISO time. */
  | { type: 'waiting'; name: string; until: string }
  | { type: 'planning' }
  | { type: 'planned'; tasks: ReadonlyArray<{ taskId: string; title: string; dependencies: readonly string[] }> }
  | { type: 'task'; taskId: string; title: string; from: string; to: string; reason?: string }
  | { type: 'iteration-start'; taskId: string; round: number; number: number; limit: number }
  | { type: 'check-start'; taskId: string; name: string; command: string }
  | { type: 'check-end'; taskId: string; check: CheckResult }
  | { type: 'iteration-end'; taskId: string; number: number; commit: string; passed: string[]; failed: string[] }
  | { type: 'loop-end'; taskId: string; outcome: RalphOutcome; iterations: number; reason?: string }
  | { type: 'review'; taskId: string; verdict: Verdict; feedback: string }
  | { type: 'conflicts'; taskId: string; files: readonly string[] }
  | { type: 'landing'; taskId: string; outcome: LandingOutcome; base: string; commit?: string; reason?: string }
  /** The harness answered an approval question. */
  | { type: 'approval'; agent: string; text: string; answer: string }
  /** A part of an agent's run. */
  | { type: 'run'; taskId?: string; agent: string; part: LivePart }

export type OnProgress = (progress: TeamProgress) => void
