/** One answer of a chat, on a terminal or not. */

import type { LivePart } from '../../agents/runs/live-channel.ts'
import { projectRoot } from '../../app/configuration/project-root.ts'
import type { Colloquy, RunResult, Session } from '../../index.ts'

/** Runs the agent on a message. What it knows of the project is gathered before it is asked for the first time. */
export async function answered(
  colloquy: Colloquy,
  session: Pick<Session, 'id'>,
  message: string | undefined,
  options: { model?: string; signal?: AbortSignal; answerWithinMs?: number; onPart(part: LivePart): void },
): Promise<RunResult> {
  const { model, signal, answerWithinMs, onPart } = options
  if (!(await colloquy.sessions.getContext(session.id))) {
    await colloquy.sessions.updateContext(session.id, { root: projectRoot() })
  }
  return colloquy.agents.run(session.id, {
    ...(message !== undefined && { message }),
    ...(model !== undefined && { model }),
    ...(signal && { signal }),
    ...(answerWithinMs !== undefined && { answerWithinMs }),
    priority: 'person',
    onPart,
  })
}
