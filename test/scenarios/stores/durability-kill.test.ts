/** Four writers on one file, killed and started again. The long version: `npm run torture -- kill --cycles 1000`. */
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../support/temporary.ts'
import { killWriters } from '../../torture/kill.ts'

it('[P1] [P2] [P3] kill -9 under four writers loses nothing acknowledged, skips no version, doubles no message', async () => {
  const report = await killWriters({ folder: temporaryFolder(), cycles: 10, seed: 2026 })
  const { acknowledged, stored, kills, replayed, share, ...broken } = report
  console.log(
    `${acknowledged} acknowledged under ${kills} kills; ${replayed} retried by key; shares ${share.min.toFixed(2)} to ${share.max.toFixed(2)}`,
  )
  expect(broken).toEqual({ cycles: 10, lost: [], gaps: [], duplicates: [], damages: [], crashes: [], starved: [] })
  expect(stored).toBeGreaterThanOrEqual(acknowledged)
  // Kills left appends that were stored but unanswered; asked for again by their key they stand once.
  expect(replayed).toBeGreaterThan(0)
}, 120_000)
