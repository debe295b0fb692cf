/** Programs that race for one session's compaction. The long version: `npm run torture -- compaction-races`. */
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../support/temporary.ts'
import { compactionRaces } from '../../torture/compaction-races.ts'

it('[P9] [P11] two processes that compact one session while a third appends take one checkpoint per base and lose nothing, 50 times', async () => {
  const report = await compactionRaces({ folder: temporaryFolder(), races: 50, seed: 2026 })
  console.log(`${report.races} races: ${report.checkpoints} checkpoints, ${report.added} messages in between`)
  expect(report.problems).toEqual([])
  expect(report.races).toBe(50)
  expect(report.checkpoints).toBeGreaterThan(25)
}, 180_000)
