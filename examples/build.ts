/** A team builds a feature in a real repository, on scripted models: planned, built until its check passes, merged. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Model } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'

const root = mkdtempSync(join(tmpdir(), 'colloquy-example-'))
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' })
git('init', '--quiet', '--initial-branch=main')
writeFileSync(join(root, 'README.md'), '# Shop\n')
git('add', '--all')
git('-c', 'user.name=You', '-c', 'user.email=you@example.invalid', 'commit', '--quiet', '-m', 'first')

/** A model that calls one tool, and is done when it has the result. */
const calling = (name: string, input: (message: string) => unknown): Model =>
  scriptedModel(({ messages }) => {
    const last = messages.at(-1)?.content ?? []
    if (last.some(part => part.type === 'tool-result')) return 'Done.'
    const message = last.map(part => (part.type === 'text' ? part.text : '')).join('')
    return { calls: [{ name, input: input(message), callId: crypto.randomUUID() }] }
  }, name)

const models = {
  pm: calling('plan_tasks', () => ({ tasks: [{ id: 'greeting', title: 'Greet the customer' }] })),
  dev: calling('write_file', message => ({
    path: 'greeting.txt',
    content: message.includes('failed with exit code') ? 'Welcome to the shop\n' : 'Hi\n',
  })),
  qa: calling('review', () => ({ verdict: 'pass', feedback: 'It greets.' })),
}

// #region build
import { openColloquy } from 'colloquy'
import { team } from 'colloquy/building'

const colloquy = await openColloquy({
  store: 'sqlite::memory:',
  project: 'shop',
  root, // a git repository; agents work in a worktree of it, never in this folder
  agents: { models },
  work: { checks: { test: 'grep -q Welcome greeting.txt' }, limits: { iterations: 5 } },
})
await colloquy.work.addFeature({ featureId: 'greet', name: 'A greeting' })
const { outcome, tasks } = await team(colloquy).run('greet', {
  onProgress(progress) {
    if (progress.type === 'iteration-end') console.log(progress.number, 'failed:', progress.failed)
    if (progress.type === 'task') console.log(progress.taskId, progress.from, '→', progress.to)
  },
})
console.log(outcome, tasks) // done [ { taskId: 'greeting', title: 'Greet the customer', state: 'merged' } ]
// #endregion build

assert.equal(outcome, 'done')
assert.equal(readFileSync(join(root, 'greeting.txt'), 'utf8'), 'Welcome to the shop\n')
const { ralph } = (await team(colloquy).status('greet')).tasks[0]!
assert.equal(ralph?.iteration, 2)
await colloquy.close()
rmSync(root, { recursive: true })
