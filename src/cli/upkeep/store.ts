/** `colloquy store`: looks at a store as a whole, brings it to today's schema, copies it into another. */
import type { Command } from 'commander'
import type { CopiedProject, StoreStatus } from '../../app/stores.ts'
import { exitCode } from '../failure.ts'
import { storePlace } from '../lookup/store-path.ts'
import { configurationOf } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { progressBar } from '../terminal/progress.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { fields, table } from '../terminal/table.ts'
import { note, printJson, printLines, style } from '../terminal/terminal.ts'
import { count } from '../text/format.ts'

/** Loaded when there is something to do: help need not wait for the whole library. */
const library = () => import('../../stores.ts')

export function addStore(program: Command): void {
  const store = program
    .command('store')
    .summary('look at a store, make its tables, copy it into another')
    .description('What is done to a store as a whole.')
  store
    .command('status')
    .summary('schema, size, projects')
    .description('Says what a store is, whether its schema is up to date and what it holds. Changes nothing.')
    .argument('[url]', 'sqlite:PATH or postgres://… (default: --store)')
    .addHelpText(
      'after',
      examples(['store status', 'of this project'], ['store status postgres://db/colloquy', 'of a server']),
    )
    .action(async (url: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const status = await (await library()).storeStatus(await placeOf(url, options))
      if (options.json) return printJson(status)
      await printLines(statusLines(status))
    })
  store
    .command('migrate')
    .summary('make the tables of an empty store')
    .description(
      'Makes the tables of an empty store, as opening it for writing does; for when programs may not do so themselves. A store of another schema is refused with what to do.',
    )
    .argument('[url]', 'sqlite:PATH or postgres://… (default: --store)')
    .addHelpText('after', examples(['store migrate postgres://owner@db/colloquy', 'as the owner of its tables']))
    .action(async (url: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const { from, to } = await (await library()).migrateStore(await placeOf(url, options))
      if (options.json) return printJson({ from, to })
      await printLines([from === to ? `Schema ${to} is up to date.` : `Brought from schema ${from} to ${to}.`])
    })
  addCopy(store)
}

function addCopy(store: Command): void {
  store
    .command('copy')
    .summary('copy projects into another store')
    .description(
      'Copies each conversation as the lines of its archive, every hash checked, and the idempotency keys and purges of the project; leases stay behind. Nothing is written to FROM. Interrupted, the same command goes on where it was. A damaged conversation is left out and named, with its branches, and the exit code is 3.',
    )
    .argument('<from>', 'sqlite:PATH or postgres://…')
    .argument('<to>', 'sqlite:PATH or postgres://…; made when it is not there')
    .addHelpText(
      'after',
      examples(
        ['store copy sqlite:.colloquy/colloquy.db postgres://db/colloquy', 'a team outgrows its machine'],
        ['store copy postgres://db/colloquy sqlite:copy.db --project shop', 'one project, to a file'],
      ),
    )
    .action(async (from: string, to: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const bar = progressBar('event')
      const { copyStore } = await library()
      const copied = await copyStore({
        from,
        to,
        ...(options.project !== undefined && { projects: [options.project] }),
        onProgress({ project, done, total }) {
          if (options.json) return
          bar.report(safeLine(`Copying ${project}`), done, total)
        },
        onProject() {
          bar.end()
        },
      }).finally(bar.end)
      if (options.json) await printJson({ copied })
      else await printLines(copied.length === 0 ? ['There is nothing to copy.'] : copied.flatMap(copiedLines))
      if (copied.some(({ refused }) => refused.length > 0)) {
        process.exitCode = exitCode.damageFound
        if (!options.json) note('Some conversations were left out. Repair them, then run the same command again.')
      }
    })
}

async function placeOf(url: string | undefined, options: GlobalOptions): Promise<string> {
  return url ?? storePlace(options.store ?? (await configurationOf(options)).store).url
}

function schemaText(schema: number, newestSchema: number): string {
  if (schema === newestSchema) return `${schema}, up to date`
  if (schema === 0) return "none yet: 'colloquy store migrate' makes it"
  return `${schema}; this version of Colloquy reads and writes ${newestSchema}`
}

function statusLines({ place, server, schema, newestSchema, bytes, projects }: StoreStatus): string[] {
  return [
    style.bold(safeLine(place)),
    ...fields([
      ['kept by', server],
      ['schema', schemaText(schema, newestSchema)],
      ['size', count(bytes, 'byte')],
    ]),
    ...(projects.length === 0
      ? []
      : table(projects, [
          { heading: 'PROJECT', of: one => safeLine(one.project), gives: true },
          { heading: 'CONVERSATIONS', of: one => count(one.conversations), align: 'right' },
          { heading: 'EVENTS', of: one => count(one.events), align: 'right' },
        ])),
  ]
}

function copiedLines({ project, copied, refused, ...counts }: CopiedProject): string[] {
  const what = `${count(counts.conversations, 'conversation')}, ${count(counts.events, 'event')}, ${count(counts.keys, 'key')}`
  const isThere = copied === 0 && refused.length === 0
  return [
    `${style.bold(safeLine(project))} ${isThere ? 'is there already, the same' : 'copied'}: ${what}.`,
    ...refused.map(({ conversationId, reason }) => safeLine(`  ${conversationId} was not copied: ${reason}`)),
  ]
}
