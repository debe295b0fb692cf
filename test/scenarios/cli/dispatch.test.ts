/** Giving work to agents from the command line, and from the server. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isOfType } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { expect, it, onTestFinished } from 'vitest'
import { cliOn } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'
import { freshServer } from '../../support/server.ts'

const complete = { calls: [{ name: 'complete', input: { summary: 'All built' } }] }

async function withScript(answer: unknown) {
  const place = await freshColloquy({ clock: Date.now })
  const script = join(place.folder, 'script.json')
  writeFileSync(script, JSON.stringify(answer))
  const env = { COLLOQUY_MODEL: `scripted:${script}` }
  return { ...place, colloquy: place.colloquy, env, cli: cliOn(place.store, { cwd: place.folder, env }) }
}

it('colloquy dispatch --once prints a line per event, and says what is parked', async () => {
  const { cli } = await withScript(complete)
  await cli('bead', 'add', 'The form', '--id', 'form')
  await cli('bead', 'add', 'Its tests', '--id', 'tests', '--depends-on', 'form')
  const { exitCode, stdout } = await cli('dispatch', '--once')
  expect(exitCode).toBe(0)
  const lines = stdout.trimEnd().split('\n')
  expect(lines.map(line => line.replace(/^\d\d:\d\d:\d\d /, '').replace(/ [\d.]+ s$/, ''))).toEqual([
    '→ dev  bead form The form',
    '✓ bead form The form  done: All built',
    '→ dev  bead tests Its tests',
    '✓ bead tests Its tests  done: All built',
    '2 items given to agents: 2 done, 0 failed.',
  ])
  expect((await cli('dispatch', 'parked')).stderr).toContain('Nothing is parked.')
})

it('colloquy dispatch prints JSON per event to machines, exits with 1 when something is parked, and resumes it', async () => {
  const { cli, colloquy } = await withScript([
    { calls: [{ name: 'park', input: { reason: 'Which colour?' } }] },
    complete,
  ])
  await colloquy.work.addBead({ beadId: 'form', title: 'The form' })
  const { exitCode, stdout } = await cli('dispatch', '--once', '--json')
  expect(exitCode).toBe(1)
  const told = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)
  expect(told.map(one => one.type)).toEqual(['started', 'ended', 'over'])
  expect(told[2]).toMatchObject({ counts: { started: 1, parked: 1 }, parked: 1 })
  expect((await cli('dispatch', 'parked')).stdout).toContain('Which colour?')
  const cleared = await cli('dispatch', 'clear', 'form', '--reason', 'Blue')
  expect(cleared.stdout).toBe('bead form can be given to agents again.\n')
  expect((await colloquy.work.getBead('form')).state).toBe('open')
})

it('colloquy dispatch stops on Ctrl-C, and the next one resumes', async () => {
  const { store, env, cli, colloquy, folder } = await withScript(complete)
  const agent = join(folder, 'slow.mjs')
  writeFileSync(agent, 'setTimeout(() => console.log("late"), 60000)\n')
  await colloquy.work.addBead({ beadId: 'form', title: 'The form' })
  const entry = new URL('../../../dist/cli.js', import.meta.url).pathname
  const child = spawn(process.execPath, [entry, '--store', store, '--project', 'shop', 'dispatch'], {
    cwd: folder,
    env: { ...process.env, ...env, COLLOQUY_MODEL: `command:node ${agent}` },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  for await (const { event } of colloquy.subscribe({ from: 'start' })) if (isOfType(event, 'run.started')) break
  child.kill('SIGINT')
  const [code] = (await once(child, 'close')) as [number]
  expect(code).toBe(0)
  expect(await colloquy.work.getBead('form')).toMatchObject({ attempts: { last: { outcome: 'aborted' } } })
  expect((await cli('dispatch', '--once')).exitCode).toBe(0)
  expect((await colloquy.work.getBead('form')).state).toBe('done')
})

it('colloquy orchestrate routes on a conversation from the command line', async () => {
  const { cli, colloquy } = await withScript('{"agents":["END"],"reason":"nothing to do"}')
  const { id } = await colloquy.conversations.createConversation({ title: 'Login' })
  const { exitCode, stdout } = await cli('orchestrate', id, 'Hello')
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'ended after 0 turns: nothing to do\n' })
  expect((await cli('orchestrate', id, '--json')).json()).toMatchObject({ outcome: 'idle', turns: 0 })
})

it('the server dispatches, too, with live events; parked items are listed and cleared over HTTP', async () => {
  let isParked = true
  const model = scriptedModel(({ messages }) => {
    const isStuck = JSON.stringify(messages).includes('Bead stuck') && isParked
    return isStuck ? { calls: [{ name: 'park', input: { reason: 'Which colour?' } }] } : complete
  })
  const { client, colloquy } = await freshServer({ open: { agents: { model }, clock: Date.now } })
  const live = client.live({ from: 'start' })
  await client.work.addBead({ body: { beadId: 'form', title: 'The form' } })
  await client.work.addBead({ body: { beadId: 'stuck', title: 'Stuck' } })
  expect(await client.dispatch.start({ body: { concurrency: 1 } })).toMatchObject({ state: 'running', concurrency: 1 })
  const seen: string[] = []
  for await (const event of live) {
    if (event.name !== 'work:updated') continue
    seen.push(event.action)
    if (event.type === 'work.moved' && event.event?.to === 'parked') break
  }
  expect(seen).toContain('dispatch')
  const status = await client.dispatch.status()
  expect(status.dispatchers).toMatchObject([{ state: 'running', counts: { done: 1, parked: 1 } }])
  expect((await client.dispatch.parked()).items).toMatchObject([{ item: { beadId: 'stuck' }, reason: 'Which colour?' }])
  isParked = false
  const updates = colloquy.subscribe({ name: 'work:updated' })
  await client.dispatch.clear({ body: { item: { type: 'bead', beadId: 'stuck' }, reason: 'Blue' } })
  for await (const update of updates) if (update.action === 'moved' && update.to === 'done') break
  expect(await client.dispatch.stop()).toEqual({ stopped: 1 })
  expect((await client.dispatch.parked()).items).toEqual([])
})

it('the server routes over HTTP: at once, or with the answer at the end', async () => {
  const model = scriptedModel('{"agents":["END"],"reason":"nothing to do"}')
  const { client, colloquy, send } = await freshServer({ open: { agents: { model }, clock: Date.now } })
  const { id: conversationId } = await colloquy.conversations.createConversation({ title: 'Login' })
  const ended = await client.dispatch.orchestrate({ conversationId, query: { wait: true }, body: { message: 'Hello' } })
  expect(ended).toMatchObject({ outcome: 'ended', reason: 'nothing to do' })
  const path = `/api/v1/projects/shop/conversations/${conversationId}/orchestrate`
  const started = await send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'And now?' }),
  })
  expect(started.status).toBe(202)
  expect(started.json()).toMatchObject({ outcome: 'started' })
})
