/** Runs a task's Ralph loop on its session and in its worktree, or the rest of one that was cut off. */

import { endIteration, endRalph, startRalph } from '../../log/commands/work/ralph.ts'
import { isOfType } from '../../log/events/recorded-event.ts'
import type { IterationEnded, RalphLimits } from '../../log/events/work/ralph.ts'
import type { RalphState } from '../../log/views/work/ralph.ts'
import { commitAll } from './git/git.ts'
import { type RalphDesk, ralphLoop } from './ralph-loop.ts'
import type { TaskRoom } from './task-context.ts'

export async function developTask(
  room: TaskRoom,
  { feedback, limits }: { feedback: string | undefined; limits: RalphLimits },
): Promise<RalphState> {
  const { engine, scope, task, place, signal, onProgress } = room
  const { taskId } = task
  const session = await room.session('dev', 'in_dev', task.agent)
  const started = {
    sessionId: session.id,
    loopId: engine.newId(),
    agent: session.agentName,
    checks: room.checks().map(({ name }) => name),
    limits,
    ...(feedback !== undefined && { feedback }),
  }
  const { info } = await room.record(id => startRalph(id, started), session)
  const { id: loopId, sessionId, round } = info.ralph!
  // The loop that goes on may be on another session than a new one would be.
  const own = sessionId === session.id ? session : await room.sessions.getSession(sessionId)
  const mark = (number: number) => `Colloquy-Iteration: ${loopId} ${number}`

  const desk: RalphDesk = {
    task,
    state: async () => (await room.head()).info.ralph!,
    async attempts(versions) {
      const found: IterationEnded[] = []
      for (const version of versions) {
        const place = { project: scope.project, conversationId: info.id, from: version, to: version }
        const [recorded] = await engine.store.read(place)
        if (recorded && isOfType(recorded, 'iteration.ended')) found.push(recorded.event)
      }
      return found
    },
    run(number, message) {
      onProgress({ type: 'iteration-start', taskId, round, number, limit: info.ralph!.limits.iterations })
      return room.run(own, { message, once: `ralph ${loopId} ${number}`, folder: place.folder, fresh: true })
    },
    commit(number) {
      const which = round === 1 ? `iteration ${number}` : `round ${round}, iteration ${number}`
      return commitAll(place.path, { subject: `${taskId}: ${task.title} (${which})`, mark: mark(number) })
    },
    check: () => room.check(place.folder),
    async iterationEnded(ended) {
      const next = await room.record(id => endIteration(id, { ...ended, loopId, sessionId }), own)
      const { passed, failed } = next.info.ralph!
      const { number, commit } = ended
      onProgress({ type: 'iteration-end', taskId, number, commit, passed: [...passed], failed: [...failed] })
      return next.info.ralph!
    },
    async ended(outcome, reason) {
      const ended = { loopId, sessionId, outcome, ...(reason !== undefined && { reason }) }
      const { ralph } = (await room.record(id => endRalph(id, ended), own)).info
      const why = reason === undefined ? {} : { reason }
      onProgress({ type: 'loop-end', taskId, outcome, iterations: ralph!.iteration, ...why })
      return ralph!
    },
    now: engine.clock,
  }
  return ralphLoop(desk, signal)
}
