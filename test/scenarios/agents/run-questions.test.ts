/** Questions of agents to people wait for an answer, across restarts, until they expire. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Colloquy, isOfType, type Model, openColloquy, type Part } from 'colloquy'
import { IllegalState } from 'colloquy/errors'
import { scriptedModel } from 'colloquy/models/scripted'
import { expect, it, onTestFinished } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'
import { problemsOf } from '../../support/requests.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const feature = { type: 'feature', agentType: 'pm', featureId: 'login' } as const
const task = { type: 'task', agentType: 'dev', featureId: 'login', taskId: 't1' } as const

async function resultsIn({ sessions }: Colloquy, id: string): Promise<Part[]> {
  return (await sessions.getAllMessages(id)).flatMap(({ parts }) => parts.filter(part => part.type === 'tool-result'))
}

/** A run that waits for a person. */
function waitingRun(colloquy: Colloquy, id: string, model: Model) {
  let isAsked = () => {}
  const isWaiting = new Promise<void>(resolve => {
    isAsked = resolve
  })
  const run = colloquy.agents.run(id, {
    message: 'Paint it',
    model,
    onPart: part => part.type === 'question' && isAsked(),
  })
  return { run, isWaiting }
}

it('a question waits for its answer, and the run goes on with it', async () => {
  const { colloquy } = await freshColloquy()
  const { id } = await colloquy.sessions.getOrCreateSession(feature)
  const question = { name: 'ask', input: { question: 'Blue or green?', choices: ['blue', 'green'] } }
  const { run, isWaiting } = waitingRun(colloquy, id, scriptedModel([{ calls: [question] }, 'Blue it is.']))
  await isWaiting
  const [open] = await colloquy.agents.questions()
  expect(open).toMatchObject({ agent: 'pm', text: 'Blue or green?', choices: ['blue', 'green'] })
  await colloquy.as({ actor: 'ada', channel: 'cli' }).agents.answer(open!.id, 'blue')
  expect(await run).toMatchObject({ outcome: 'done', text: 'Blue it is.' })
  expect(await resultsIn(colloquy, id)).toMatchObject([{ output: 'blue' }])
  expect(await colloquy.agents.questions()).toEqual([])
  await expect(colloquy.agents.answer(open!.id, 'green')).rejects.toThrow(IllegalState)
})

it('a question waits across a restart, and the next run uses the answer', async () => {
  const { colloquy, store, pass, now } = await freshColloquy()
  const { id, conversationId } = await colloquy.sessions.getOrCreateSession(feature)
  const asked = waitingRun(colloquy, id, scriptedModel([{ calls: [{ name: 'ask', input: { question: 'Blue?' } }] }]))
  await asked.isWaiting
  // As if its process were gone: its lease has expired without a release.
  pass(10 * 60_000)
  const other = await openColloquy({ store, project: 'shop', sweepEveryMs: null, clock: now })
  onTestFinished(() => other.close())
  const [open] = await other.agents.questions()
  await other.agents.answer(open!.id, 'yes, blue')
  const heard: string[] = []
  const model = scriptedModel(({ messages }) => {
    heard.push(JSON.stringify(messages), ...problemsOf(messages))
    return 'Blue it is.'
  })
  expect(await other.agents.run(id, { model })).toMatchObject({ outcome: 'done', text: 'Blue it is.', steps: 1 })
  expect(heard).toHaveLength(1)
  expect(heard[0]).toContain('"yes, blue"')
  await colloquy.agents.cancel(id)
  expect((await asked.run).outcome).not.toBe('done')
  const events = await other.conversations.getEvents(conversationId)
  const ended = events.filter(one => isOfType(one, 'run.ended')).map(one => one.event.outcome)
  expect(ended).toEqual(['crashed', 'done'])
})

it('a command whose permission came after a crash is run once', async () => {
  const root = temporaryFolder()
  const { colloquy, store, pass, now } = await freshColloquy({ root })
  const { id } = await colloquy.sessions.getOrCreateSession(task)
  const command = `node -e "require('fs').appendFileSync('ran', 'x')"`
  const calls = [{ name: 'run_command', input: { command } }]
  const asked = waitingRun(colloquy, id, scriptedModel([{ calls }]))
  await asked.isWaiting
  pass(10 * 60_000)
  const other = await openColloquy({ store, project: 'shop', root, sweepEveryMs: null, clock: now })
  onTestFinished(() => other.close())
  const [open] = await other.agents.questions()
  expect(open).toMatchObject({ kind: 'approval', default: 'no', text: `dev wants to run: ${command}` })
  await other.agents.answer(open!.id, 'yes')
  expect(await other.agents.run(id, { model: scriptedModel('Ran.') })).toMatchObject({ outcome: 'done' })
  await colloquy.agents.cancel(id)
  await asked.run
  expect(readFileSync(join(root, 'ran'), 'utf8')).toBe('x')
})

it('a question takes its default when no answer comes in time', async () => {
  const { colloquy } = await freshColloquy()
  const { id } = await colloquy.sessions.getOrCreateSession(feature)
  const question = { name: 'ask', input: { question: 'Blue or green?', default: 'green' } }
  const model = scriptedModel([{ calls: [question] }, 'Green then.'])
  expect(await colloquy.agents.run(id, { message: 'Paint it', model, answerWithinMs: 1 })).toMatchObject({
    outcome: 'done',
  })
  expect(JSON.stringify(await resultsIn(colloquy, id))).toContain('Continue with: green')
})

it('a question takes its default by the sweep when no process runs the agent any more', async () => {
  const { colloquy, pass } = await freshColloquy()
  const { id } = await colloquy.sessions.getOrCreateSession(feature)
  const question = { name: 'ask', input: { question: 'Blue or green?', default: 'green' } }
  const { run, isWaiting } = waitingRun(colloquy, id, scriptedModel([{ calls: [question] }]))
  await isWaiting
  await colloquy.agents.cancel(id)
  expect((await run).outcome).toBe('cancelled')
  pass(2 * 24 * 60 * 60_000)
  expect((await colloquy.maintain()).timedOutQuestions).toBe(1)
  expect(await colloquy.agents.questions()).toEqual([])
})
