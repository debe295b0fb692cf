/** Short versions of what `npm run torture -- postgres` does for long. */
import { expect, it, onTestFinished } from 'vitest'
import { freshSchema } from '../../support/postgres.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { manyNodes, stoppedNode, underCuts, underOutages } from '../../torture/postgres-nodes.ts'
import { random } from '../../torture/random.ts'

it('[P1][P2] three nodes of eight callers each lose nothing, leave no gap, and each node sees each event once', async () => {
  const { url } = await freshSchema()
  const report = await manyNodes(url, { nodes: 3, writers: 8, each: 10 })
  expect(report).toMatchObject({ appended: 240, problems: [] })
}, 60_000)

it('[P11] a node that was stopped past its lease is refused when it goes on', async () => {
  const { url } = await freshSchema()
  expect(await stoppedNode(url, { forMs: 1000 })).toEqual([])
}, 60_000)

it('[P1][P2] restarts of the server and cut connections lose nothing acknowledged, and callers go on', async () => {
  const server = await startPostgres({ fsync: 'off' })
  onTestFinished(() => server.remove())
  const url = server.urlOf('postgres')
  const restarts = await underOutages([url, url], { outages: 2, each: 20, disturb: () => server.crashAndRestart() })
  expect(restarts.problems).toEqual([])
  const cuts = await underCuts(server, { appends: 100, choose: random(7) })
  expect(cuts.problems).toEqual([])
  expect(cuts.outages).toBeGreaterThanOrEqual(5)
}, 90_000)
