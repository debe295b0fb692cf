/** `colloquy run`, `ralph`, `stop`, `resume` and `status`, as a person runs them in a repository. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openColloquy } from 'colloquy'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { runCli } from '../../support/cli.ts'
import { commit, repositoryWith, runGit, write } from '../../support/repository.ts'

const done = 'Done.'
const dev = (content: string) => [
  { calls: [{ name: 'write_file', input: { path: 'answer.txt', content: `${content}\n` } }] },
  done,
]
const qa = [{ calls: [{ name: 'review', input: { verdict: 'pass', feedback: 'Fine.' } }] }, done]

/** A repository with a feature and a task, and agents that answer from files. */
async function project({ answers = dev('good') }: { answers?: unknown[] } = {}) {
  const root = repositoryWith({ '.gitignore': '.colloquy/\n', 'README.md': 'A shop.\n' })
  runGit(root, 'checkout', '--quiet', '-b', 'main')
  const script = (name: string) => join(root, '.colloquy', `${name}.json`)
  write(root, { '.colloquy/': '' })
  writeFileSync(script('dev'), JSON.stringify(answers))
  writeFileSync(script('qa'), JSON.stringify(qa))
  const settings = {
    project: 'shop',
    tokens: 'fast',
    agents: { models: { dev: `scripted:${script('dev')}`, qa: `scripted:${script('qa')}` }, leaseMs: 2000 },
    work: { checks: { test: 'grep -qs good answer.txt' }, leaseMs: 2000, limits: { iterations: 2 } },
  }
  writeFileSync(join(root, 'colloquy.config.yaml'), stringify(settings))
  commit(root, 'first')
  const store = `sqlite:${join(root, '.colloquy', 'colloquy.db')}`
  const colloquy = await openColloquy({ store, project: 'shop', sweepEveryMs: null, root })
  await colloquy.work.addFeature({ featureId: 'f', name: 'Answers' })
  await colloquy.work.planTasks('f', { add: [{ taskId: 't', title: 'Answer' }] })
  await colloquy.close()
  const cli = (...args: string[]) => runCli(args, { cwd: root })
  return { root, cli, answer: (answers: unknown[]) => writeFileSync(script('dev'), JSON.stringify(answers)) }
}

describe('the command line', () => {
  it('colloquy team runs on the only feature there is, prints what it does, and where everything stands', async () => {
    const { root, cli } = await project()
    const before = await cli('status')
    expect(before.stdout).toMatch(/f {2}Answers {2}planning\n.*\nt +planning/)
    const ran = await cli('run')
    expect(ran.stderr).toBe('')
    expect(ran.stdout).toMatch(/planning → in_dev[\s\S]*✓ test[\s\S]*passes: Fine\.[\s\S]*merged into main as \w{9}/)
    expect(ran.stdout).toContain('1 of 1 tasks merged')
    expect(ran.exitCode).toBe(0)
    expect(runGit(root, 'show', 'main:answer.txt')).toBe('good\n')
    const { stdout } = await cli('status', 'f')
    expect(stdout).toMatch(/t +merged +1 iteration: passed +pass \(1\)/)
    expect((await cli('status', 'f', '--json')).json()).toMatchObject({ featureId: 'f', state: 'done' })
    expect((await cli('run', 'f', '--json')).json()).toMatchObject({ outcome: 'done' })
  })

  it('colloquy ralph runs the loop of one task, says why it ended, and resumes it', async () => {
    const { cli, answer } = await project({ answers: [...dev('bad'), ...dev('worse')] })
    const failed = await cli('ralph', 't')
    expect(failed.exitCode).toBe(1)
    expect(failed.stdout).toContain('iteration_limit after 2 iterations')
    expect((await cli('status')).stdout).toMatch(/t +failed/)
    const stuck = await cli('run', 'f', '--json')
    expect(stuck.exitCode).toBe(1)
    expect(stuck.json()).toMatchObject({ outcome: 'stuck', reason: 't is failed' })
    answer(dev('good'))
    const resumed = await cli('resume', 'f', '--json')
    expect(resumed.json()).toMatchObject({ outcome: 'done' })
  })

  it('colloquy team says what is wrong: no such feature, no such task, no team at work, no repository', async () => {
    const { cli } = await project()
    expect((await cli('run', 'other', '--json')).error()).toMatchObject({ code: 'not-found' })
    expect((await cli('ralph', 'other', '--json')).error()).toMatchObject({ code: 'not-found' })
    expect((await cli('stop', 'f', '--json')).error()).toMatchObject({ code: 'state/illegal' })
    expect(await cli('run', '--approvals', 'maybe')).toMatchObject({ exitCode: 2 })
  })
})
