/** `colloquy config`: the settings that hold here, and where each comes from. */
import { basename } from 'node:path'
import type { Command } from 'commander'
import { defaultStore, projectRoot } from '../../app/configuration/project-root.ts'
import { withoutPassword } from '../../log/store-address.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { table } from '../terminal/table.ts'
import { printJson, printLines } from '../terminal/terminal.ts'

interface Setting {
  name: string
  value: unknown
  from: string
}

export function addConfig(program: Command): void {
  program
    .command('config')
    .summary('show the settings that hold, and where each comes from')
    .description(
      'Defaults, over them the configuration file and what it says for this project, over it the environment, over that the options given here.',
    )
    .addHelpText(
      'after',
      examples(
        ['config', 'what holds in this folder'],
        ['config --json', 'for a script'],
        ['config --project shop', 'what holds in another project'],
        ['config --store sqlite:other.db', 'what an option would change'],
      ),
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const settings = await effective(options)
      if (options.json) return printJson({ settings })
      await printLines(
        table(settings, [
          { heading: 'setting', of: ({ name }) => safeLine(name) },
          { heading: 'value', of: ({ value }) => safeLine(JSON.stringify(value)), gives: true },
          { heading: 'from', of: ({ from }) => safeLine(from) },
        ]),
      )
    })
}

async function effective({ config, store, project }: GlobalOptions): Promise<Setting[]> {
  const [{ configurationSources }, { Configuration }] = await Promise.all([
    import('../../app/configuration/configuration-reader.ts'),
    import('../../app/configuration/options.ts'),
  ])
  const root = projectRoot()
  const defaults = {
    ...Configuration.parse({ store: defaultStore(root), project: basename(root), root, server: {} }),
    projects: {},
  }
  const sources = await configurationSources(config === undefined ? {} : { file: config })
  const name = project ?? sources.findLast(({ settings }) => settings.project !== undefined)?.settings.project
  const shownProject = name ?? defaults.project
  const layers = [
    { from: 'default', settings: defaults as object },
    ...sources.flatMap(({ from, settings: { projects = {}, ...settings } }) => [
      { from, settings },
      ...Object.entries(projects).map(([project, own]) =>
        project === shownProject
          ? { from: `${from} (projects.${project})`, settings: own }
          : { from, settings: { projects: { [project]: own } } },
      ),
    ]),
    ...(store === undefined ? [] : [{ from: '--store', settings: { store } }]),
    ...(project === undefined ? [] : [{ from: '--project', settings: { project } }]),
  ]
  const known = new Map<string, Setting>()
  for (const { from, settings } of layers) {
    for (const [name, value] of flat(settings)) known.set(name, { name, value: shown(name, value), from })
  }
  return [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Hides passwords: the output is meant to be shown to others. */
function shown(name: string, value: unknown): unknown {
  return name === 'store' && typeof value === 'string' ? withoutPassword(value) : value
}

/** Groups that are one value. */
const wholes: ReadonlySet<string> = new Set(['strategy', 'models', 'phases'])

/** `requests.budget` and its value, for every setting; what is a value as a whole stays one. */
function flat(settings: object, above = ''): Array<[string, unknown]> {
  return Object.entries(settings).flatMap(([key, value]): Array<[string, unknown]> => {
    const name = above === '' ? key : `${above}.${key}`
    if (value === undefined) return []
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isGroup && !wholes.has(key) ? flat(value, name) : [[name, value]]
  })
}
