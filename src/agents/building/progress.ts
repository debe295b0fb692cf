/** What a team tells while it works, for whoever looks on. Nothing of it is stored: what counts stands in the log. */

import type { LandingOutcome } from '../../log/events/work/landing.ts'
import type { CheckResult, RalphOutcome } from '../../log/events/work/ralph.ts'
import type { Verdict } from '../../log/events/work/review.ts'
import type { LivePart } from '../runs/live-channel.ts'

export type TeamProgress =
  /** Another process has the work, and may be dead: its lease runs out at that ISO time. */
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
  /** The harness answered an agent that asked for approval. */
  | { type: 'approval'; agent: string; text: string; answer: string }
  /** What an agent says and does while it runs. */
  | { type: 'run'; taskId?: string; agent: string; part: LivePart }

export type OnProgress = (progress: TeamProgress) => void
