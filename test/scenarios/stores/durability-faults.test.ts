/** Faults that a kill cannot show: the sync before the acknowledgement, the loss of power, and a disk that fails. */
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/temporary.ts'
import { faults, losePower, underFault } from '../../torture/faults.ts'
import { compileShim, faultText, noShim } from '../../torture/shim.ts'

if (noShim !== undefined) console.log(`Tests behind the shim are left out: ${noShim}.`)

describe.skipIf(noShim !== undefined)(`behind a shim${noShim === undefined ? '' : ` (left out: ${noShim})`}`, () => {
  it('[P1] the write-ahead log is synced before every acknowledgement, and a loss of power takes nothing acknowledged', async () => {
    const folder = temporaryFolder()
    const library = compileShim(folder)
    const report = await losePower({ folder, library, appends: 150, losses: 12, seed: 2026 })
    expect(report).toMatchObject({ acknowledged: 153, unsynced: [], losses: 12, problems: [] })
    expect(report.walSyncs).toBeGreaterThan(0)
  }, 60_000)

  const chosen = faults.filter((_, index) => index % 2 === 0 || faults[index]!.error === 'ENOSPC')
  it.each(chosen.map(fault => [faultText(fault), fault] as const))(
    '[P1] when %s, an append is durable or refused with an error that says so',
    async (_, fault) => {
      const folder = temporaryFolder()
      const report = await underFault({ folder, library: compileShim(folder), fault, appends: 60 })
      expect(report.problems).toEqual([])
      if (!fault.fromStart) expect(report.acknowledged).toBeGreaterThan(0)
      if (fault.error === 'ENOSPC' && fault.write && !fault.fromStart && !fault.only) {
        expect(Object.keys(report.refused)).toEqual(['store/full'])
      }
    },
    60_000,
  )
})
