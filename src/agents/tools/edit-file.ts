/** Replaces text in a file: a unique occurrence, or all occurrences on request. */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { insidePath } from './paths.ts'
import { ToolRefused, tool } from './tool.ts'
import { writeInside } from './write-inside.ts'

export const editFileTool = tool({
  name: 'edit_file',
  description:
    'Replaces a text in a file of the project, which must have been read first. The old text must stand in it exactly once: give enough of what surrounds it.',
  input: z.strictObject({
    path: z.string().min(1).describe('from the project root'),
    old: z.string().min(1).describe('the text to replace, to the letter'),
    new: z.string().describe('what stands there afterwards'),
    all: z.boolean().optional().describe('replace it every time it stands there'),
  }),
  async run({ path, old, new: replacement, all = false }, call) {
    const found = await insidePath(call.root, path)
    if (found.kind !== 'file') throw new ToolRefused(`There is no file "${path}".`)
    const pieces = (await readFile(found.absolute, 'utf8')).split(old)
    const times = pieces.length - 1
    if (times === 0) throw new ToolRefused(`The old text does not stand in "${path}". Read it again.`)
    if (times > 1 && !all) throw new ToolRefused(`The old text stands ${times} times in "${path}". Give more of it.`)
    const written = await writeInside(path, pieces.join(replacement), call)
    return `Replaced ${times === 1 ? 'it' : `${times} places`} in ${written}.`
  },
})
