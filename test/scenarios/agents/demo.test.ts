/** The demo as a person runs it, and killed once. The long version: `npm run torture -- demo`. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCli } from '../../support/cli.ts'
import { folderWith, runGit, write } from '../../support/repository.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { demo, killDemo, problemsOf } from '../../torture/demo.ts'

const newFolder = () => join(temporaryFolder(), 'till')

/** The files that a demo leaves which was not killed. */
let treeWithoutKills: string

describe('the demo', { timeout: 600_000 }, () => {
  it('the demo takes a feature of three tasks from plan to merge, and leaves repository and store to look around in', async () => {
    const folder = newFolder()
    const { exitCode, output } = await demo(folder)
    expect(output).toContain('3 of 3 tasks merged')
    expect(output).toMatch(/✗ test[\s\S]*reads an amount[\s\S]*iteration 2[\s\S]*✓ test/)
    expect(output).toContain('returns it: src/discount.js:3')
    expect(output).toContain('Look around:')
    expect(exitCode).toBe(0)
    expect(await problemsOf(folder)).toEqual([])
    const tests = execFileSync('npm', ['test'], { cwd: folder, encoding: 'utf8' })
    // Newer versions of Node mark these lines otherwise.
    expect(tests).toMatch(/^. pass 10$/m)
    expect(tests).toMatch(/^. fail 0$/m)
    const status = await runCli(['status', '--json'], { cwd: folder })
    expect(status.json()).toMatchObject({
      features: [{ featureId: 'coupons', state: 'done', ended: { outcome: 'done' }, questions: [] }],
    })
    const again = await demo(folder)
    expect(again.exitCode).toBe(0)
    expect(runGit(folder, 'rev-list', '--count', 'main').trim()).toBe('9')
    treeWithoutKills = runGit(folder, 'rev-parse', 'main^{tree}').trim()
  })

  it('the demo does not touch a folder that holds something else', async () => {
    const folder = folderWith({ 'mine.txt': 'mine' })
    const { exitCode, output } = await demo(folder)
    expect(exitCode).toBe(1)
    expect(output).toContain('is not empty and not a demo')
    expect(await runCli(['demo', '--dir', folder, '--json'])).toMatchObject({ exitCode: 1 })
  })

  it('a demo that is killed at a random point and started again ends as if it had never been killed', async () => {
    const folder = newFolder()
    write(folder, {})
    const seed = Math.floor(Math.random() * 2 ** 31)
    const { problems, kills, killedAt, tree } = await killDemo({ folder, kills: 1, seed })
    expect({ problems, seed, killedAt: problems.length > 0 ? killedAt : [] }).toEqual({
      problems: [],
      seed,
      killedAt: [],
    })
    expect(kills).toBe(1)
    expect(tree).toBe(treeWithoutKills)
  })
})
