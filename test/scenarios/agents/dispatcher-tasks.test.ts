/** Tasks of features that are in progress are dispatched, too: to dev, QA and merge as their states call for. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isOfType, type OpenOptions } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'
import { expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'
import { commit, folderWith, repositoryWith } from '../../support/repository.ts'

/** Dev writes a file for each time it is asked; QA sends the first piece of work back. */
function team(root: string): OpenOptions {
  let files = 0
  let reviews = 0
  const model = scriptedModel(({ system, messages }) => {
    if (system.includes('reviewer')) {
      const verdict = reviews++ === 0 ? 'return' : 'pass'
      return JSON.stringify({ verdict, feedback: 'Say more in it.' })
    }
    const isWritten = JSON.stringify(messages.at(-1)).includes('tool-result')
    const write = { name: 'write_file', input: { path: `file-${files++}.txt`, content: 'text' } }
    return isWritten ? 'Written.' : { calls: [write] }
  })
  return {
    root,
    clock: Date.now,
    agents: { model },
    work: { checks: { ok: 'node -e 0' }, approvals: 'yes' },
    dispatch: { concurrency: 2, lookEveryMs: 50, guards: { backOffMs: 1 } },
  }
}

it('the dispatcher takes the tasks of a feature in progress one after the other to their merge, and the feature to its end', async () => {
  const root = repositoryWith({ 'README.md': 'hello\n', '.gitignore': '.colloquy/\n' })
  commit(root, 'first')
  const { colloquy } = await freshColloquy(team(root))
  await colloquy.work.addFeature({ featureId: 'files', name: 'Files' })
  await colloquy.work.planTasks('files', {
    add: [
      { taskId: 'one', title: 'Write file-one' },
      { taskId: 'two', title: 'Write file-two', dependencies: ['one'] },
    ],
  })
  // As long as it is being planned nothing of it is taken.
  expect(await colloquy.dispatcher.once()).toMatchObject({ started: 0 })
  await colloquy.work.moveFeature('files', 'in_progress')
  const agents: string[] = []
  const counts = await colloquy.dispatcher.once({
    onUpdate: update => {
      if (update.type === 'started') agents.push(`${update.item.type === 'task' && update.item.taskId} ${update.agent}`)
    },
  })
  expect(await colloquy.dispatcher.parked()).toEqual([])
  expect(agents).toEqual(['one dev', 'one qa', 'one dev', 'one qa', 'one merge', 'two dev', 'two qa', 'two merge'])
  expect(counts).toMatchObject({ started: 8, done: 2, continued: 6, failed: 0 })
  expect((await colloquy.work.getFeature('files')).state).toBe('done')
  expect((await colloquy.work.listTasks('files')).map(task => task.state)).toEqual(['merged', 'merged'])
  expect((await colloquy.verify()).clean).toBe(true)
  const { conversationId } = await colloquy.work.getTask('files', 'one')
  const events = await colloquy.conversations.getEvents(conversationId!)
  const dispatched = events.filter(one => isOfType(one, 'dispatch.started')).map(one => one.event.state)
  expect(dispatched).toEqual(['planning', 'dev_complete', 'in_dev', 'dev_complete', 'qa_complete'])
  expect(existsSync(join(root, '.colloquy', 'worktrees', 'files'))).toBe(false)
})

it('the dispatcher parks a task with its reason where there is no repository, and resumes it when a person clears it', async () => {
  const { colloquy } = await freshColloquy(team(folderWith({ 'a.txt': 'a' })))
  await colloquy.work.addFeature({ featureId: 'files', name: 'Files' })
  await colloquy.work.planTasks('files', { add: [{ taskId: 'one', title: 'Write file-one' }] })
  await colloquy.work.moveFeature('files', 'in_progress')
  await colloquy.dispatcher.once()
  const item = { type: 'task', featureId: 'files', taskId: 'one' } as const
  expect(await colloquy.dispatcher.parked()).toMatchObject([
    { item, state: 'blocked', reason: expect.stringMatching(/repository/i) },
  ])
  await colloquy.dispatcher.clear(item, 'looked at it')
  expect((await colloquy.work.getTask('files', 'one')).state).toBe('planning')
})
