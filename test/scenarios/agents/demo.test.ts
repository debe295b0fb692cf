/** The demo as a person runs it; and killed, again and again. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCli } from '../../support/cli.ts'
import { folderWith, runGit, write } from '../../support/repository.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { demo, killDemo, problemsOf } from '../../torture/demo.ts'

const place = () => join(temporaryFolder(), 'till')

/** Machines that test have other things to do, too. */
const patience = 600_000

describe('the demo', { timeout: patience }, () => {
  it('takes a feature of three tasks from plan to merge, and leaves repository and store to look around in', async () => {
    const folder = place()
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
  })

  it('does not touch a folder that holds something else', async () => {
    const folder = folderWith({ 'mine.txt': 'mine' })
    const { exitCode, output } = await demo(folder)
    expect(exitCode).toBe(1)
    expect(output).toContain('holds something else')
    expect(await runCli(['demo', '--dir', folder, '--json'])).toMatchObject({ exitCode: 1 })
  })

  it('killed at 5 random points and started again ends as if nobody had', async () => {
    const folder = place()
    write(folder, {})
    const seed = Math.floor(Math.random() * 2 ** 31)
    const { problems, kills, killedAt } = await killDemo({ folder, kills: 5, seed })
    expect({ problems, seed, killedAt: problems.length > 0 ? killedAt : [] }).toEqual({
      problems: [],
      seed,
      killedAt: [],
    })
    expect(kills).toBe(5)
    const tree = runGit(folder, 'rev-parse', 'main^{tree}').trim()
    expect(tree).toBe(await treeOfWhole())
  })
})

/** The files of a demo that nobody killed. */
async function treeOfWhole(): Promise<string> {
  const folder = place()
  await demo(folder)
  return runGit(folder, 'rev-parse', 'main^{tree}').trim()
}
