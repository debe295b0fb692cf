/** Folders that are gone after the test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A fresh folder, removed when the running test is finished. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
