/** Writes a whole file: a new one, or one the agent has read. */
import { z } from 'zod'
import { tool } from './tool.ts'
import { writeInside } from './write-inside.ts'

export const writeFileTool = tool({
  name: 'write_file',
  description:
    'Writes a whole file of the project. An existing file must have been read first; prefer edit_file for it.',
  input: z.strictObject({ path: z.string().min(1).describe('from the project root'), content: z.string() }),
  async run({ path, content }, call) {
    const writtenPath = await writeInside(path, content, call)
    return `Wrote ${writtenPath} (${content.length} characters).`
  },
})
