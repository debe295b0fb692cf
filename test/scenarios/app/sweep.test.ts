/** The maintenance sweep of a project in which something is damaged: everything else is looked after as ever. */
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, it } from 'vitest'
import { freshColloquy, hour } from '../../support/colloquy.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const feature = (featureId: string) => ({ type: 'feature', agentType: 'pm', featureId }) as const

/** A project in a file that is damaged behind its back. */
async function shop() {
  const file = join(temporaryFolder(), 'colloquy.db')
  const kept = await freshColloquy({ store: `sqlite:${file}`, archive: { inactiveForMs: 100 * hour } })
  async function damage(sql: string): Promise<void> {
    const connection = new DatabaseSync(file)
    connection.exec('pragma foreign_keys = off')
    connection.exec(sql)
    connection.close()
    await turn()
  }
  return { ...kept, damage }
}

it('[P13] a session without a head, and without an event to make one of, keeps no other from expiring', async () => {
  const { colloquy, pass, damage } = await shop()
  const ids: string[] = []
  for (const name of ['a', 'b', 'c']) ids.push((await colloquy.sessions.getOrCreateSession(feature(name))).id)
  await damage(`
    update sessions set head = '{' where id = '${ids[0]}';
    update events set body = '{' where type = 'session.created' and body like '%${ids[0]}%'`)
  pass(25 * hour)
  expect(await colloquy.maintain()).toMatchObject({ expired: 2 })
  expect(await colloquy.maintain()).toMatchObject({ expired: 0 })
  for (const id of ids.slice(1)) expect(await colloquy.sessions.getSession(id)).toMatchObject({ status: 'expired' })
})

it('[P13] more damaged sessions than one batch hide none behind them', async () => {
  const { colloquy, pass, damage } = await shop()
  const { conversationId } = await colloquy.sessions.getOrCreateSession(feature('a'))
  for (let i = 0; i < 120; i++) await colloquy.sessions.getOrCreateSession({ ...feature('a'), agentType: `agent ${i}` })
  pass(1)
  const last = await colloquy.sessions.getOrCreateSession({ ...feature('a'), agentType: 'last' })
  await damage(`
    update sessions set head = '{' where id <> '${last.id}';
    update events set body = '{' where type = 'session.created' and body not like '%${last.id}%'`)
  pass(25 * hour)
  expect(await colloquy.maintain()).toMatchObject({ expired: 1 })
  expect(await colloquy.conversations.getConversation(conversationId)).toMatchObject({ id: conversationId })
})

it('[P13] a conversation whose log is gone keeps no other from the archive, nor from the sweep', async () => {
  const { colloquy, pass, damage } = await shop()
  const { conversations, sessions } = colloquy
  const ids: string[] = []
  for (const name of ['a', 'b']) {
    const { conversationId } = await sessions.getOrCreateSession({ ...feature(name), expiresInMs: null })
    await conversations.startOrchestratorTurn(conversationId, { agents: ['dev'], reason: 'go' })
    ids.push(conversationId)
  }
  const done = await sessions.getOrCreateSession(feature('c'))
  await conversations.complete(done.conversationId)
  await damage(`delete from events where conversation in
    (select conversation from conversations where id in ('${ids[0]}', '${done.conversationId}'))`)
  pass(hour)
  expect(await colloquy.maintain()).toMatchObject({ timedOutTurns: 1 })
  pass(101 * hour)
  expect(await colloquy.maintain()).toMatchObject({ archived: 1 })
  expect(await conversations.getConversation(ids[1]!)).toMatchObject({ status: 'archived' })
  expect(await colloquy.maintain()).toMatchObject({ archived: 0, expired: 0 })
})
