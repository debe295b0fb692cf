/** `colloquy token`: tokens for the server besides the owner's, each with its projects and its scope. */
import { type Command, Option } from 'commander'
import { defaultStore, projectRoot } from '../../app/configuration/project-root.ts'
import { NotFound } from '../../errors.ts'
import type { TokenScope } from '../../server/access/principal.ts'
import { configurationOf } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { table } from '../terminal/table.ts'
import { note, printJson, printLines } from '../terminal/terminal.ts'
import { localTime } from '../text/format.ts'

interface TokenOptions extends GlobalOptions {
  tokenFile?: string
  scope: TokenScope
  for?: string[]
  all?: boolean
}

export function addToken(program: Command): void {
  const token = program
    .command('token')
    .summary('make, list and revoke tokens of the server')
    .description("Tokens beside the owner's. Each is told once, when it is made; what is kept is its digest.")
    .option('--token-file <FILE>', "the owner's token, beside which the others are kept")
    .addHelpText(
      'after',
      examples(
        ['token create ci --scope write --for shop', 'for one project'],
        ['token create dashboard --scope read --all', 'for all of them, reading only'],
        ['token revoke ci', 'it is refused from now on'],
      ),
    )
  token
    .command('create')
    .argument('<name>', 'who it is for: the actor of what is written with it')
    .addOption(new Option('--scope <SCOPE>', 'what it is good for').choices(['read', 'write', 'admin']).default('read'))
    .option('--for <PROJECT...>', 'its projects (default: the project of this folder)')
    .option('--all', 'all projects')
    .action(async (name: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<TokenOptions>()
      const { book, project } = await bookOf(options)
      const projects = options.all ? 'all' : (options.for ?? [project])
      const { token, entry } = book.add({ name, scope: options.scope, projects })
      if (options.json) return printJson({ token, id: entry.id, name, scope: entry.scope, projects })
      await printLines([token])
      note('It is not shown again.')
    })
  token.command('list').action(async (_: unknown, command: Command) => {
    const options = command.optsWithGlobals<TokenOptions>()
    const { book } = await bookOf(options)
    const entries = book.list().map(({ digest: _, ...entry }) => entry)
    if (options.json) return printJson({ tokens: entries })
    if (entries.length === 0) return note("There are no tokens but the owner's.")
    await printLines(
      table(entries, [
        { heading: 'id', of: ({ id }) => safeLine(id) },
        { heading: 'name', of: ({ name }) => safeLine(name), gives: true },
        { heading: 'scope', of: ({ scope }) => scope },
        { heading: 'projects', of: ({ projects }) => safeLine(projects === 'all' ? 'all' : projects.join(', ')) },
        { heading: 'made', of: ({ createdAt }) => localTime(createdAt) },
        { heading: 'revoked', of: ({ revokedAt }) => (revokedAt === undefined ? '' : localTime(revokedAt)) },
      ]),
    )
  })
  token
    .command('revoke')
    .argument('<token>', 'its id or name')
    .action(async (idOrName: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<TokenOptions>()
      const { book } = await bookOf(options)
      if (!book.revoke(idOrName)) throw new NotFound('token', idOrName, "'colloquy token list' shows those there are.")
      if (options.json) return printJson({ revoked: idOrName })
      await printLines([safeLine(`${idOrName} is refused from now on.`)])
    })
}

async function bookOf(options: TokenOptions) {
  const { tokenBook, tokenPlace } = await import('../../server/index.ts')
  const configuration = await configurationOf(options)
  const root = projectRoot()
  const store = options.store ?? configuration.store ?? defaultStore(root)
  const file = options.tokenFile ?? configuration.server?.tokenFile ?? tokenPlace(store, root)
  const project = options.project ?? configuration.project ?? root.split(/[\\/]/).at(-1)!
  return { book: tokenBook(file), project }
}
