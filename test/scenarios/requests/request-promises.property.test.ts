/**
 * The promises about requests over random logs, every case through the front door. The long version:
 * `npm run torture -- requests --cases 1000000`.
 */
import { expect, it } from 'vitest'
import { requestPromises } from '../../torture/requests.ts'

it('[P5] [P6] [P7] [P8] [P10] [P12] 1,000 random logs: inside the budget, covered, legal, stable, and only what one may see', async () => {
  const { problems, cases, ...tally } = await requestPromises({ cases: 1_000, seed: 2026 })
  console.log(`${cases} cases: ${JSON.stringify(tally)}`)
  expect(problems).toEqual([])
  expect(cases).toBe(1_000)
  // The cases reach what they are about.
  for (const seen of Object.values(tally)) expect(seen).toBeGreaterThan(20)
}, 180_000)
