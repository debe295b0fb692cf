/** `colloquy help`: what the commands do. A name that is no command's is wrong usage, as it is without `help`. */
import type { Command } from 'commander'

export function addHelp(program: Command): void {
  program.helpCommand(false)
  program
    .command('help')
    .summary('display help for a command')
    .argument('[command...]', 'a command')
    .action(async (names: string[], _: unknown, command: Command) => {
      let found: Command = program
      for (const name of names) {
        const next = found.commands.find(one => one.name() === name || one.aliases().includes(name))
        // As without `help`: with what it may have been meant to be.
        if (!next && found.commands.length > 0) await found.parseAsync([name], { from: 'user' })
        found = next ?? command.error(`error: unknown command '${name}'`)
      }
      found.help()
    })
}
