/** Before all tests: a place where they agree on one PostgreSQL. After them: that server is ended, if one was started. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresFolder: string
  }
}

export default function setUp(project: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
  project.provide('postgresFolder', folder)
  return async () => {
    const { pid, folder: place } = startedServer(join(folder, 'server.json'))
    if (pid !== undefined) await end(pid)
    for (const one of [folder, place]) if (one) rmSync(one, { recursive: true, force: true })
  }
}

function startedServer(file: string): { pid?: number; folder?: string } {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}

/** SIGQUIT ends the server at once; its data is thrown away anyway. */
async function end(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGQUIT')
    for (let tries = 0; tries < 500; tries++) {
      process.kill(pid, 0)
      await wait(10)
    }
  } catch {
    // It is gone.
  }
}
