/** Replaces text in a file: a unique occurrence, or all occurrences on request. */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { insidePath } from './paths.ts'
import { ToolRefused, tool } from './tool.ts'
import { writeInside } from './write-inside.ts'

export const editFileTool = tool({
  name: 'edit_file',
  description:
    'Replaces a text in a file of the project, which must have been read first. The old text must occur exactly once: include enough surrounding text.',
  input: z.strictObject({
    path: z.string().min(1).describe('from the project root'),
    old: z.string().min(1).describe('the exact text to replace'),
    new: z.string().describe('the replacement'),
    all: z.boolean().optional().describe('replace every occurrence'),
  }),
  async run({ path, old, new: replacement, all = false }, call) {
    const file = await insidePath(call.root, path)
    if (file.kind !== 'file') throw new ToolRefused(`There is no file "${path}".`)
    const pieces = (await readFile(file.absolute, 'utf8')).split(old)
    const times = pieces.length - 1
    if (times === 0)
      throw new ToolRefused(`The old text does not occur in "${path}". Nothing was changed; read the file again.`)
    if (times > 1 && !all)
      throw new ToolRefused(`The old text occurs ${times} times in "${path}". Nothing was changed; include more of it.`)
    const writtenPath = await writeInside(path, pieces.join(replacement), call)
    return `Replaced ${times === 1 ? 'one occurrence' : `${times} occurrences`} in ${writtenPath}.`
  },
})
