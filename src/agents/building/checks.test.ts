/** Finding and running a project's own checks. */
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { folderWith } from '../../../test/support/repository.ts'
import { runChecks } from './checks.ts'
import { findChecks } from './find-checks.ts'

const scripts = (scripts: Record<string, string>) => JSON.stringify({ scripts })

describe('checks are found', () => {
  it('checks are found by the scripts of package.json, what fails fastest first, and the lock file names the runner', () => {
    const root = folderWith({ 'package.json': scripts({ test: 'node --test', lint: 'x', build: 'y', start: 'z' }) })
    expect(findChecks(root)).toEqual({
      checks: [
        { name: 'build', command: 'npm run build' },
        { name: 'lint', command: 'npm run lint' },
        { name: 'test', command: 'npm test' },
      ],
      commands: ['npm test', 'npm run lint', 'npm run build'],
    })
    const pnpm = folderWith({ 'package.json': scripts({ test: 'x' }), 'pnpm-lock.yaml': '' })
    expect(findChecks(pnpm).checks).toEqual([{ name: 'test', command: 'pnpm test' }])
  })

  it('checks are not found where they would fail by design, or repeat all the others', () => {
    const root = folderWith({
      'package.json': scripts({ test: 'echo "Error: no test specified" && exit 1', check: 'x' }),
    })
    expect(findChecks(root).checks).toEqual([{ name: 'check', command: 'npm run check' }])
    expect(findChecks(folderWith({ 'package.json': scripts({ test: 'a', check: 'b' }) })).checks).toEqual([
      { name: 'test', command: 'npm test' },
    ])
    expect(findChecks(folderWith({ 'package.json': '{ broken' }))).toEqual({ checks: [], commands: [] })
    expect(findChecks(folderWith({ 'a.txt': '' }))).toEqual({ checks: [], commands: [] })
  })

  it('checks of a project of several kinds have names of their own', () => {
    const root = folderWith({ 'go.mod': '', 'Cargo.toml': '', 'pytest.ini': '', Makefile: 'all:\n\ntest:\n\tpytest\n' })
    const { checks, commands } = findChecks(root)
    expect(checks).toEqual([
      { name: 'build', command: 'cargo check' },
      { name: 'go build ./...', command: 'go build ./...' },
      { name: 'lint', command: 'go vet ./...' },
      { name: 'test', command: 'cargo test' },
      { name: 'go test ./...', command: 'go test ./...' },
      { name: 'pytest', command: 'pytest' },
      { name: 'make test', command: 'make test' },
    ])
    expect(commands).toContain('go test')
  })
})

describe('checks are run', () => {
  const folder = () => folderWith({ 'here.txt': 'here' })

  it('checks run in their folder, all of them, each with its outcome and its output', async () => {
    const results = await runChecks(
      [
        { name: 'look', command: 'cat here.txt' },
        { name: 'fail', command: 'echo to stderr >&2 && exit 3' },
        { name: 'nothing', command: 'no-such-program-here' },
        { name: 'last', command: 'true' },
      ],
      { folder: folder() },
    )
    expect(results).toMatchObject([
      { name: 'look', passed: true, exitCode: 0, output: 'here' },
      { name: 'fail', passed: false, exitCode: 3, output: 'to stderr' },
      { name: 'nothing', passed: false, exitCode: 127 },
      { name: 'last', passed: true, output: '' },
    ])
  })

  it('checks keep the end of a long output', async () => {
    const [result] = await runChecks([{ name: 'much', command: 'seq 1 100000 && exit 1' }], {
      folder: folder(),
      characters: 500,
    })
    expect(result!.output.length).toBeLessThan(600)
    expect(result!.output).toMatch(/characters left out …\]\n\d+\n/)
    expect(result!.output.endsWith('99999\n100000')).toBe(true)
  })

  it('checks run no longer than allowed, with all they started', async () => {
    const [result] = await runChecks([{ name: 'slow', command: 'sleep 60 & echo $!; wait' }], {
      folder: folder(),
      timeMs: 200,
    })
    expect(result).toMatchObject({ passed: false, exitCode: null })
    expect(result!.output).toContain('ended after')
    expect(await isGone(Number.parseInt(result!.output, 10))).toBe(true)
  })

  it('checks run until they are stopped; later ones are not run', async () => {
    const stopping = new AbortController()
    const results = await runChecks(
      [
        { name: 'slow', command: 'sleep 60' },
        { name: 'next', command: 'true' },
      ],
      { folder: folder(), signal: stopping.signal, onStart: () => stopping.abort() },
    )
    expect(results).toMatchObject([{ name: 'slow', passed: false }])
  })

  it('checks run without the keys of this process', async () => {
    process.env.COLLOQUY_TEST_API_KEY = 'secret'
    const [result] = await runChecks([{ name: 'env', command: 'env' }], { folder: folder(), characters: 100_000 })
    delete process.env.COLLOQUY_TEST_API_KEY
    expect(result!.output).not.toContain('COLLOQUY_TEST_API_KEY')
    expect(result!.output).toContain('CI=')
  })
})

async function isGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 100; tries++) {
    try {
      process.kill(pid, 0)
    } catch {
      return true
    }
    await wait(20)
  }
  return false
}
