/** A long chat with tools in a small budget, killed on the way. `npm run torture -- chat` does it with more kills. */
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../support/temporary.ts'
import { killedChat } from '../../torture/chat.ts'

const turns = 300
const budget = 30_000
const kills = 5

it(`[P5] [P6] [P7] [P9] ${turns} turns with tools in ${budget} tokens, killed ${kills} times, lose and repeat nothing`, async () => {
  const report = await killedChat({ folder: temporaryFolder(), turns, budget, kills, seed: 2026 })
  expect(report.problems).toEqual([])
  expect(report.checkpoints).toBeGreaterThan(2)
}, 600_000)
