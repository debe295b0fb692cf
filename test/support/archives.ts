/** Places for archives: in memory, and one that fails. */
import { randomUUID } from 'node:crypto'
import type { ArchivePlace } from 'colloquy'
import { linesOf } from './builders.ts'

/** Keeps what is written, for the test to read back or look into. */
export function memoryArchives(): ArchivePlace & { files: Map<string, string[]> } {
  const files = new Map<string, string[]>()
  return {
    files,
    async write(name, lines) {
      const address = `memory:${name}:${randomUUID()}`
      files.set(address, await linesOf(lines))
      return address
    },
    async *read(address) {
      yield* files.get(address) ?? []
    },
  }
}

/** Fails, as a full disk does, after it took `lines` lines. */
export function failingArchives(linesTaken: number): ArchivePlace {
  return {
    async write(_name, lines) {
      let taken = 0
      for await (const _ of lines) if (taken++ === linesTaken) break
      throw new Error('no room for archives')
    },
    async *read() {
      yield* []
    },
  }
}
