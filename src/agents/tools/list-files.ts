/** Lists a folder of the project as a tree, without ignored files. */
import { z } from 'zod'
import { directoryStructure } from '../../request/context/structure.ts'
import { insideFolder } from './paths.ts'
import { shorten, ToolRefused, tool } from './tool.ts'

export const listFilesTool = tool({
  name: 'list_files',
  description: 'Lists the files and folders of the project, or of one of its folders, without ignored ones.',
  input: z.strictObject({
    path: z.string().optional().describe('a folder, from the project root; default the root'),
    depth: z.int().min(1).max(20).optional().describe('number of levels; default 4'),
  }),
  async run({ path = '.', depth = 4 }, { root, limits }) {
    const { absolute } = await insideFolder(root, path)
    const tree = await directoryStructure(absolute, { depth, entries: 1000, perFolder: 200 })
    if (tree === undefined) throw new ToolRefused(`"${path}" cannot be read.`)
    return shorten(tree === '' ? '(nothing)' : tree, limits.characters)
  },
})
