/** Requests made of the contract's own schemas, half right and half wrong. `npm run torture -- fuzz` sends 100,000. */
import { expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'
import { fuzz } from '../../torture/fuzz.ts'

it('the server answers any input with no 5xx and no trace of its code, and the log stays whole', async () => {
  const { colloquy } = await freshColloquy()
  const report = await fuzz({ colloquy, requests: 600, seed: 20261116 })
  expect(report.problems).toEqual([])
  expect(Object.keys(report.statuses)).toEqual(expect.arrayContaining(['200', '400', '404']))
  expect(await colloquy.verify()).toMatchObject({ clean: true })
})
