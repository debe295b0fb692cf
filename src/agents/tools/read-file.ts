/** Reads a text file, whole or a range of lines, and records that the agent has read it. */
import { readFile, stat } from 'node:fs/promises'
import { z } from 'zod'
import { insidePath } from './paths.ts'
import { ToolRefused, tool } from './tool.ts'

const maxBytes = 10 * 1024 * 1024

export const readFileTool = tool({
  name: 'read_file',
  description:
    'Reads a text file of the project. Read a long file in ranges of lines. A file must be read before it is written.',
  input: z.strictObject({
    path: z.string().min(1).describe('from the project root'),
    line: z.int().positive().optional().describe('first line; default 1'),
    lines: z.int().positive().optional().describe('number of lines; default as many as fit'),
  }),
  async run({ path, line = 1, lines }, { root, limits, port }) {
    const file = await insidePath(root, path)
    if (file.kind !== 'file') throw new ToolRefused(`There is no file "${path}".`)
    const { size } = await stat(file.absolute)
    if (size > maxBytes) throw new ToolRefused(`"${path}" has ${size} bytes, which is too large to read.`)
    const bytes = await readFile(file.absolute)
    if (bytes.subarray(0, 8000).includes(0)) throw new ToolRefused(`"${path}" is not a text file.`)
    const allLines = bytes.toString('utf8').split('\n')
    if (line > allLines.length) throw new ToolRefused(`"${path}" has only ${allLines.length} lines.`)
    const requested = allLines.slice(line - 1, lines === undefined ? undefined : line - 1 + lines)
    const shown: string[] = []
    let length = 0
    for (const text of requested) {
      length += text.length + 1
      if (length > limits.characters && shown.length > 0) break
      shown.push(text.slice(0, limits.characters).toWellFormed())
    }
    await port.recordRead(path)
    const last = line + shown.length - 1
    if (line === 1 && last === allLines.length) return shown.join('\n')
    const more = last < allLines.length ? `; continue with line ${last + 1}` : ''
    return `[lines ${line} to ${last} of ${allLines.length}${more}]\n${shown.join('\n')}`
  },
})
