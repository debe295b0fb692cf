/**
 * Resolves references to files of the project.
 *
 * Every author of a message can name a file, and its content is sent to models. So files outside the root, hidden files
 * (`.env`) and files that git ignores are refused.
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { git } from './git.ts'
import { projectPath } from './project-path.ts'
import type { ReferenceResolver } from './resolver.ts'

const mostBytes = 64 * 1024

export function fileResolver(root: string): ReferenceResolver {
  return {
    kinds: ['file'],
    async resolve({ target }) {
      const found = await projectPath(root, target)
      if (!found.inside) throw new Error(`it ${found.reason}`)
      if (found.kind === 'nothing') return undefined
      if (found.kind !== 'file') throw new Error('it is not a file')
      if (found.path.split('/').some(name => name.startsWith('.'))) throw new Error('it is hidden')
      if (await git(root, ['check-ignore', '--', found.absolute])) throw new Error('git ignores it')
      const { text, size } = await beginning(found.absolute)
      const cut = size > mostBytes ? `\n[… the first ${mostBytes} of ${size} bytes; read the file for the rest …]` : ''
      return { text: text + cut, source: `the file ${found.path}` }
    },
  }
}

/** Reads no more than it may, however large the file is. */
async function beginning(path: string): Promise<{ text: string; size: number }> {
  // Does not follow a link that was put there since the check.
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, mostBytes)), 0)
    const bytes = buffer.subarray(0, bytesRead)
    if (bytes.includes(0)) throw new Error('it is not text')
    // `stream` leaves out a character that the limit cut in two.
    return { text: new TextDecoder().decode(bytes, { stream: size > mostBytes }), size }
  } finally {
    await file.close()
  }
}
