/** Searches the project's files with git, which follows no links and respects ignore files. */
import { z } from 'zod'
import { gitAnswer } from '../../request/context/git.ts'
import { insideFolder } from './paths.ts'
import { shorten, ToolRefused, tool } from './tool.ts'

export const searchFilesTool = tool({
  name: 'search_files',
  description: 'Finds lines with a text or a regular expression in the files of the project. Returns path:line:text.',
  input: z.strictObject({
    text: z.string().min(1).max(500),
    path: z.string().optional().describe('a folder, from the project root; default the root'),
    regex: z.boolean().optional().describe('the text is an extended regular expression'),
    ignoreCase: z.boolean().optional(),
  }),
  async run({ text, path = '.', regex = false, ignoreCase = false }, { root, limits, signal }) {
    const folder = await insideFolder(root, path)
    const flags = ['-n', '-I', regex ? '-E' : '-F', ...(ignoreCase ? ['-i'] : [])]
    const where = [folder.path === '' ? '.' : folder.path, ':(exclude).colloquy', ':(exclude)node_modules']
    const args = ['grep', '--no-index', '--exclude-standard', '--no-color', ...flags, '-e', text, '--', ...where]
    const { exitCode, stdout, stderr } = await gitAnswer(root, args, { signal })
    if (exitCode === 1 && stderr === '') return 'No line matches.'
    if (exitCode !== 0) throw new ToolRefused(`The search failed: ${stderr.trim() || `exit code ${exitCode}`}`)
    const lines = stdout.trimEnd().split('\n')
    return shorten(
      lines.map(line => (line.length > 400 ? `${line.slice(0, 400)}…` : line)).join('\n'),
      limits.characters,
    )
  },
})
