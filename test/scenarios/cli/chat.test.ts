/** The command line with agents: init, chat, answer. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openColloquy } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { expect, it, onTestFinished } from 'vitest'
import { readConfiguration } from '../../../src/app/configuration/configuration-reader.ts'
import { cliOn, runCli } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'
import { temporaryFolder } from '../../support/temporary.ts'

it('colloquy chat answers a message on standard input and leaves both in the log', async () => {
  const folder = temporaryFolder()
  const store = `sqlite:${join(folder, 'new.db')}`
  const agent = join(folder, 'agent.mjs')
  writeFileSync(
    agent,
    'let text = ""\nprocess.stdin.on("data", data => (text += data)).on("end", () => console.log("Hello.", text.includes("say hello")))\n',
  )
  const options = ['--store', store, '--project', 'shop', 'chat', '--agent', 'pm', '--feature', 'f']
  const { exitCode, stdout, stderr } = await runCli([...options, '--model', `command:node ${agent}`], {
    cwd: folder,
    input: 'say hello\n',
  })
  expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: 'Hello. true\n', stderr: '' })
  const colloquy = await openColloquy({ store, project: 'shop', sweepEveryMs: null })
  onTestFinished(() => colloquy.close())
  const session = await colloquy.sessions.getActiveSession({ type: 'feature', agentType: 'pm', featureId: 'f' })
  const messages = await colloquy.sessions.getAllMessages(session!.id)
  expect(messages.map(one => [one.role, one.content.trimEnd()])).toEqual([
    ['user', 'say hello'],
    ['assistant', 'Hello. true'],
  ])
})

it('colloquy chat goes on where the last chat ended, and gives JSON to machines', async () => {
  const { store, folder } = await freshColloquy()
  const script = join(folder, 'script.txt')
  writeFileSync(script, 'Yes.')
  const cli = cliOn(store, { cwd: folder, input: 'Is it?' })
  await cli('chat', '--model', `scripted:${script}`)
  const { exitCode, json } = await cli('chat', '--model', `scripted:${script}`, '--json')
  expect(exitCode).toBe(0)
  expect(json()).toMatchObject({ outcome: 'done', text: 'Yes.', steps: 1 })
})

it('colloquy chat says that no model is configured and how to set one', async () => {
  const { store, folder } = await freshColloquy()
  const { exitCode, stderr, stdout } = await cliOn(store, { cwd: folder, input: 'Hello', env: { COLLOQUY_MODEL: '' } })(
    'chat',
  )
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toContain('No model is configured')
  expect(stderr).toContain('--model')
  expect(stderr).toContain('COLLOQUY_MODEL')
})

it('colloquy chat prints a failure of the model and exits with 1', async () => {
  const { store, folder } = await freshColloquy()
  const script = join(folder, 'script.json')
  writeFileSync(script, JSON.stringify({ text: 'I was', failure: { kind: 'refused' } }))
  const { exitCode, stdout, stderr } = await cliOn(store, { cwd: folder, input: 'Hello' })(
    'chat',
    '--model',
    `scripted:${script}`,
  )
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: 'I was\n' })
  expect(stderr).toContain('failed: refused')
})

it('colloquy answer lists the questions of agents and answers one while the agent waits', async () => {
  const { colloquy, store } = await freshColloquy({ clock: Date.now })
  const { id } = await colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'pm', featureId: 'login' })
  const model = scriptedModel([{ calls: [{ name: 'ask', input: { question: 'Blue or green?' } }] }, 'Thanks.'])
  let isAsked = (_: string) => {}
  const asked = new Promise<string>(resolve => {
    isAsked = resolve
  })
  const answering = colloquy.agents.run(id, {
    message: 'Paint it',
    model,
    onPart: part => part.type === 'question' && isAsked(part.questionId),
  })
  const questionId = await asked
  const cli = cliOn(store)
  const listed = await cli('answer')
  expect(listed.stdout).toContain('Blue or green?')
  expect(listed.stdout).toContain(questionId)
  expect(await cli('answer', questionId, 'light', 'blue')).toMatchObject({
    exitCode: 0,
    stdout: 'Answered pm: light blue\n',
  })
  expect((await answering).outcome).toBe('done')
  expect((await cli('answer')).stdout).toBe('No agent waits for an answer.\n')
  expect((await cli('answer', questionId, 'green')).exitCode).toBe(1)
})

it('colloquy init sets a project up from the files it finds there', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { test: 'x', lint: 'y', start: 'z' } }))
  writeFileSync(join(folder, 'CLAUDE.md'), '# Rules')
  const first = await runCli(['init', '--model', 'ollama:qwen3'], { cwd: folder })
  expect(first).toMatchObject({ exitCode: 0, stderr: '' })
  expect(first.stdout).toContain('npm test, npm run lint')
  expect(first.stdout).toContain('CLAUDE.md')
  const file = join(folder, 'colloquy.config.yaml')
  expect(await readConfiguration({ file, env: {} })).toMatchObject({
    agents: { model: 'ollama:qwen3', defaultAgent: 'pm', commands: { dev: ['npm test', 'npm run lint'] } },
  })
  const before = readFileSync(file, 'utf8')
  const second = await runCli(['init'], { cwd: folder })
  expect(second.exitCode).toBe(1)
  expect(second.stderr).toContain('--force')
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect(existsSync(join(folder, '.colloquy'))).toBe(false)
})
