/** Reads a text file, whole or a range of lines, and records that the agent has read it. */
import { readFile, stat } from 'node:fs/promises'
import { z } from 'zod'
import { insidePath } from './paths.ts'
import { ToolRefused, tool } from './tool.ts'

const largestBytes = 10 * 1024 * 1024

export const readFileTool = tool({
  name: 'read_file',
  description:
    'Reads a text file of the project. Long files come in pieces: give the first line and how many. A file must be read before it is written.',
  input: z.strictObject({
    path: z.string().min(1).describe('from the project root'),
    line: z.int().positive().optional().describe('the first line; default 1'),
    lines: z.int().positive().optional().describe('how many lines; default as many as fit'),
  }),
  async run({ path, line = 1, lines }, { root, limits, desk }) {
    const found = await insidePath(root, path)
    if (found.kind !== 'file') throw new ToolRefused(`There is no file "${path}".`)
    const { size } = await stat(found.absolute)
    if (size > largestBytes) throw new ToolRefused(`"${path}" has ${size} bytes, which is too large to read.`)
    const bytes = await readFile(found.absolute)
    if (bytes.subarray(0, 8000).includes(0)) throw new ToolRefused(`"${path}" is not a text file.`)
    const all = bytes.toString('utf8').split('\n')
    if (line > all.length) throw new ToolRefused(`"${path}" has ${all.length} lines.`)
    const wanted = all.slice(line - 1, lines === undefined ? undefined : line - 1 + lines)
    const shown: string[] = []
    let length = 0
    for (const text of wanted) {
      length += text.length + 1
      if (length > limits.characters && shown.length > 0) break
      shown.push(text.slice(0, limits.characters).toWellFormed())
    }
    await desk.recordRead(path)
    const last = line + shown.length - 1
    if (line === 1 && last === all.length) return shown.join('\n')
    const more = last < all.length ? `; go on with line ${last + 1}` : ''
    return `[lines ${line} to ${last} of ${all.length}${more}]\n${shown.join('\n')}`
  },
})
