/** Loop detection on recorded runs of a real orchestrator: which stalls it names, which runs it interrupts for nothing. */
import { openColloquy } from 'colloquy'
import {
  type ReplayedRun,
  recordedRuns,
  recordedRunsAreThere,
  replay,
} from '../test/support/recordings/recorded-runs.ts'
import type { Benchmark, Finding } from './support/benchmark.ts'

export const loops: Benchmark = {
  name: 'loops',
  title: 'Loop detection on recorded runs',
  about:
    'Runs of an orchestrator with its agents (who-and-when, hand-crafted), their turns taken through the front door until they end or routing is blocked, with the default settings. A run counts as stalled when its own orchestrator wrote that it stalled; the detector does not see that.',
  async run(_, tell): Promise<Finding[]> {
    if (!recordedRunsAreThere) return [{ what: 'not measured: the recorded runs are not there', ours: '–' }]
    const colloquy = await openColloquy({
      store: 'sqlite::memory:',
      project: 'bench',
      tokens: 'fast',
      sweepEveryMs: null,
    })
    const replayed: ReplayedRun[] = []
    for (const run of recordedRuns()) {
      tell(run.name)
      replayed.push(await replay(colloquy, run))
    }
    await colloquy.close()
    return findings(replayed)
  },
}

function findings(replayed: readonly ReplayedRun[]): Finding[] {
  const isStalled = ({ run }: ReplayedRun) => run.stalledAfter.length > 0
  const stalled = replayed.filter(isStalled)
  const others = replayed.filter(one => !isStalled(one))
  const kinds = new Map<string, number>()
  for (const { blocked } of replayed) if (blocked) kinds.set(blocked.kind, (kinds.get(blocked.kind) ?? 0) + 1)
  return [
    share('stalled runs that it names', stalled, blockedIn),
    share(
      '… no later than the orchestrator itself',
      stalled,
      ({ run, blocked }) => blocked !== undefined && blocked.turn <= run.stalledAfter[0]! + 1,
    ),
    share('other runs that it interrupts', others, blockedIn),
    share(
      '… of those whose own ledger never spoke of a loop',
      others.filter(({ run }) => !run.saidLoop),
      blockedIn,
    ),
    share(
      '… of those that ended with the request satisfied',
      others.filter(({ run }) => run.satisfied),
      blockedIn,
    ),
    ...[...kinds].map(([kind, count]) => ({ what: `found as ${kind}`, ours: String(count) })),
  ]
}

const blockedIn = ({ blocked }: ReplayedRun) => blocked !== undefined

function share(what: string, of: readonly ReplayedRun[], isMeant: (one: ReplayedRun) => boolean): Finding {
  return { what, ours: `${of.filter(isMeant).length} of ${of.length}` }
}
