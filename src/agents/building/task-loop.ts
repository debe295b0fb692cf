/** Runs a task's Ralph loop on its session and in its worktree, or resumes a crashed one. */

import { endIteration, endRalph, startRalph } from '../../log/commands/work/ralph.ts'
import { isOfType } from '../../log/events/recorded-event.ts'
import type { IterationEnded, RalphLimits } from '../../log/events/work/ralph.ts'
import type { RalphState } from '../../log/views/work/ralph.ts'
import { commitAll } from './git/git.ts'
import { type RalphPort, ralphLoop } from './ralph-loop.ts'
import type { TaskContext } from './task-context.ts'

export async function developTask(
  context: TaskContext,
  { feedback, limits }: { feedback: string | undefined; limits: RalphLimits },
): Promise<RalphState> {
  const { engine, scope, task, worktree, signal, onProgress } = context
  const { taskId } = task
  const session = await context.session('dev', 'in_dev', task.agent)
  const newLoop = {
    sessionId: session.id,
    loopId: engine.newId(),
    agent: session.agentName,
    checks: context.checks().map(({ name }) => name),
    limits,
    ...(feedback !== undefined && { feedback }),
  }
  const { info } = await context.record(id => startRalph(id, newLoop), session)
  const { id: loopId, sessionId, round } = info.ralph!
  // A resumed loop may have another session than a new one.
  const loopSession = sessionId === session.id ? session : await context.sessions.getSession(sessionId)
  const mark = (number: number) => `Colloquy-Iteration: ${loopId} ${number}`

  const port: RalphPort = {
    task,
    state: async () => (await context.head()).info.ralph!,
    async attempts(versions) {
      const iterations: IterationEnded[] = []
      for (const version of versions) {
        const range = { project: scope.project, conversationId: info.id, from: version, to: version }
        const [recorded] = await engine.store.read(range)
        if (recorded && isOfType(recorded, 'iteration.ended')) iterations.push(recorded.event)
      }
      return iterations
    },
    run(number, message) {
      onProgress({ type: 'iteration-start', taskId, round, number, limit: info.ralph!.limits.iterations })
      return context.run(loopSession, {
        message,
        once: `ralph ${loopId} ${number}`,
        folder: worktree.folder,
        fresh: true,
      })
    },
    commit(number) {
      const label = round === 1 ? `iteration ${number}` : `round ${round}, iteration ${number}`
      return commitAll(worktree.path, { subject: `${taskId}: ${task.title} (${label})`, mark: mark(number) })
    },
    check: () => context.check(worktree.folder),
    async iterationEnded(iteration) {
      const next = await context.record(id => endIteration(id, { ...iteration, loopId, sessionId }), loopSession)
      const { passed, failed } = next.info.ralph!
      const { number, commit } = iteration
      onProgress({ type: 'iteration-end', taskId, number, commit, passed: [...passed], failed: [...failed] })
      return next.info.ralph!
    },
    async ended(outcome, reason) {
      const ending = { loopId, sessionId, outcome, ...(reason !== undefined && { reason }) }
      const { ralph } = (await context.record(id => endRalph(id, ending), loopSession)).info
      onProgress({
        ...{ type: 'loop-end', taskId, outcome, iterations: ralph!.iteration },
        ...(reason !== undefined && { reason }),
      })
      return ralph!
    },
    now: engine.clock,
  }
  return ralphLoop(port, signal)
}
