/** `colloquy help`: what the commands do. A name that is no command's is wrong usage, as it is without `help`. */
import type { Command } from 'commander'

export function addHelp(program: Command): void {
  program.helpCommand(false)
  program
    .command('help')
    .summary('display help for a command')
    .argument('[command...]', 'a command')
    .action((names: string[], _: unknown, command: Command) => {
      let found: Command = program
      for (const name of names) {
        const next = found.commands.find(one => one.name() === name || one.aliases().includes(name))
        if (!next) return command.error(`error: unknown command '${name}'`)
        found = next
      }
      found.help()
    })
}
