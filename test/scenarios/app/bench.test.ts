/** The benchmarks run, and their report keeps what people wrote around it. Nothing here looks at how long it takes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { append } from '../../../bench/append.ts'
import { isMet } from '../../../bench/benchmark.ts'
import { disk } from '../../../bench/disk.ts'
import { read } from '../../../bench/read.ts'
import { thisMachine, writeReport } from '../../../bench/report.ts'
import { requests } from '../../../bench/requests.ts'
import { quickSizes } from '../../../bench/sizes.ts'
import { teams } from '../../../bench/teams.ts'
import { manyMessages, messageBytes } from '../../../bench/text.ts'
import { turns } from '../../../bench/turns.ts'

const silently = () => undefined

function reportPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'benchmarks.md')
}

it('compares appends with the bare insert at every history, for both ways to count tokens', async () => {
  const findings = await append.run(quickSizes, silently)
  expect(findings.map(({ what }) => what)).toEqual([
    'history of 0, just opened, exact token counts',
    'history of 200, just opened, exact token counts',
    'history of 0, just opened, fast token counts',
    'history of 200, just opened, fast token counts',
    'history of 0, steady state, exact token counts',
    'history of 200, steady state, exact token counts',
    'history of 0, steady state, fast token counts',
    'history of 200, steady state, fast token counts',
    'ours at 200 to ours at 0, exact token counts',
    'ours at 200 to ours at 0, fast token counts',
  ])
  for (const finding of findings) expect(finding.ratio).toBeGreaterThan(0)
  expect(findings.map(finding => isMet(finding) !== undefined)).toEqual([
    ...Array(4).fill(true),
    ...Array(4).fill(false),
    ...Array(2).fill(true),
  ])
})

it('compares assembling a request with reading its rows, and a longer history with a shorter one', async () => {
  const findings = await requests.run(quickSizes, silently)
  expect(findings.map(finding => isMet(finding) !== undefined)).toEqual([true, false, false, false, false, true])
  expect(findings.at(-1)?.what).toBe('history of 400 to ours at 200')
  for (const finding of findings) expect(finding.ratio).toBeGreaterThan(0)
})

it('compares a turn of an agent with reading its rows and as many commits', async () => {
  const findings = await turns.run(quickSizes, silently)
  expect(findings.map(finding => isMet(finding) !== undefined)).toEqual([true, false, false])
  for (const finding of findings) expect(finding.ratio).toBeGreaterThan(0)
})

it('compares what a team does on a long conversation with the same on a short one', async () => {
  const findings = await teams.run(quickSizes, silently)
  expect(findings.map(finding => isMet(finding) !== undefined)).toEqual([true, true, true, false])
  for (const finding of findings) expect(finding.ratio).toBeGreaterThan(0)
})

it('writes its tables between markers, only those of what it ran, and keeps the prose', async () => {
  const path = reportPath()
  const machine = thisMachine()
  const found = await read.run(quickSizes, silently)
  writeReport(path, [{ benchmark: read, findings: found, seconds: 1 }], machine)
  writeFileSync(path, `${readFileSync(path, 'utf8')}\nA word about these figures.\n`)

  const bytes = await disk.run(quickSizes, silently)
  writeReport(path, [{ benchmark: disk, findings: bytes, seconds: 1 }], machine)

  const text = readFileSync(path, 'utf8')
  expect(text).toContain(`Node ${process.versions.node}`)
  expect(text).toContain('| history of 200 |')
  expect(text).toContain('| 500 messages, log and index |')
  expect(text).toContain('A word about these figures.')
  expect(text.match(/<!-- bench read -->/g)).toHaveLength(1)
})

it('writes the same messages in every run, of 400 bytes and all different', () => {
  const some = manyMessages(500, 1)
  expect(manyMessages(500, 1)).toEqual(some)
  expect(new Set(some).size).toBe(500)
  expect(some.every(text => Buffer.byteLength(text) === messageBytes)).toBe(true)
})
