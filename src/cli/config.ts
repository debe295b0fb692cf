/** `colloquy config`: the settings that hold here, and where each comes from. */
import type { Command } from 'commander'
import { defaultStore, projectRoot } from '../managers/project-root.ts'
import { examples, type GlobalOptions } from './options.ts'
import { safeLine } from './safe-text.ts'
import { table } from './table.ts'
import { printJson, printLines } from './terminal.ts'

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
      'Defaults, over them the configuration file, over it the environment, over that the options given here.',
    )
    .addHelpText(
      'after',
      examples(
        ['config', 'what holds in this folder'],
        ['config --json', 'for a script'],
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
  const [{ configurationSources }, { defaultSettings }, { defaultRequestSettings }, { defaultLimits }] =
    await Promise.all([
      import('../managers/read-configuration.ts'),
      import('../managers/settings.ts'),
      import('../managers/request-settings.ts'),
      import('../server/settings.ts'),
    ])
  const root = projectRoot()
  const defaults = {
    store: defaultStore(root),
    project: root.split(/[\\/]/).at(-1),
    ...defaultSettings,
    requests: defaultRequestSettings,
    server: {
      host: '127.0.0.1',
      port: 7333,
      allowOutside: false,
      basePath: '',
      traceLevel: 'info',
      limits: defaultLimits,
    },
  }
  const layers = [
    { from: 'default', settings: defaults as object },
    ...(await configurationSources(config === undefined ? {} : { file: config })),
    ...(store === undefined ? [] : [{ from: '--store', settings: { store } }]),
    ...(project === undefined ? [] : [{ from: '--project', settings: { project } }]),
  ]
  const known = new Map<string, Setting>()
  for (const { from, settings } of layers) {
    for (const [name, value] of flat(settings)) known.set(name, { name, value, from })
  }
  return [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** `requests.budget` and its value, for every setting; what is a value as a whole stays one. */
function flat(settings: object, above = ''): Array<[string, unknown]> {
  return Object.entries(settings).flatMap(([key, value]): Array<[string, unknown]> => {
    const name = above === '' ? key : `${above}.${key}`
    if (value === undefined) return []
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isGroup && key !== 'strategy' && key !== 'models' ? flat(value, name) : [[name, value]]
  })
}
