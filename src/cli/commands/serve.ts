/** `colloquy serve`: the UI, the API and live events over HTTP, for this machine alone unless told otherwise. */
import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import type { DispatchUpdate } from '../../agents/scheduling/dispatcher.ts'
import type { Configuration } from '../../app/configuration/options.ts'
import { defaultStore, projectRoot } from '../../app/configuration/project-root.ts'
import { withoutPassword } from '../../log/store-address.ts'
import type { Tracer } from '../../tracing.ts'
import { configurationOf, userName } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { whenStopped } from '../terminal/stop-signals.ts'
import { printJson, printLines, style } from '../terminal/terminal.ts'

interface ServeOptions extends GlobalOptions {
  host?: string
  port?: number
  allowOutside?: boolean
  tokenFile?: string
  allowHost?: string[]
  origin?: string[]
  basePath?: string
  traceLevel?: string
  spans?: boolean
  dispatch?: boolean
}

export function addServe(program: Command): void {
  program
    .command('serve')
    .summary('serve the UI, the API and live events over HTTP')
    .description(
      'Serves the UI, the API, live events and their description. Only this machine can reach it, and only with its token: the printed address lets a browser in once, programs send the token.',
    )
    .option('--host <ADDRESS>', 'where to listen (default: 127.0.0.1)')
    .option('--port <NUMBER>', 'the port; 0 for any that is free (default: 7333)', portNumber)
    .option('--allow-outside', 'listen where others can reach it')
    .option('--token-file <FILE>', 'the token; made if there is none (default: token beside the store)')
    .option('--allow-host <NAME...>', 'further names of this server in the Host header, such as colloquy.local:7333')
    .option('--origin <ORIGIN...>', 'further origins whose pages may call, such as http://localhost:5173')
    .option('--dispatch', 'give work to agents, too, as colloquy dispatch does')
    .option('--base-path <PATH>', 'the path that a proxy in front serves it below, such as /colloquy')
    .option('--trace-level <LEVEL>', 'what is told on stderr: debug tells every request (default: info)')
    .option('--spans', 'tell OpenTelemetry of appends, requests, compactions and runs; the SDK is yours to load')
    .addHelpText(
      'after',
      examples(
        ['serve', 'on 127.0.0.1:7333, with the store of this project'],
        ['serve --port 0 --json', 'any free port, told for a script'],
        ['serve --host 0.0.0.0 --allow-outside --allow-host box.local:7333', 'for others, too'],
      ),
    )
    .action(async (_: unknown, command: Command) => serve(command.optsWithGlobals<ServeOptions>()))
}

async function serve(options: ServeOptions): Promise<void> {
  const [{ openColloquy }, server, { pino }, { ServeSettings }, configuration] = await Promise.all([
    import('../../index.ts'),
    import('../../server/index.ts'),
    import('pino'),
    import('../../app/configuration/server-settings.ts'),
    configurationOf(options),
  ])
  const root = projectRoot()
  const store = options.store ?? configuration.store ?? defaultStore(root)
  const settings = ServeSettings.parse(configuration.server ?? {})
  const tokenFile = options.tokenFile ?? settings.tokenFile ?? server.tokenPlace(store, root)
  const token = server.ownersToken(tokenFile)
  const trace = pino({ level: options.traceLevel ?? settings.traceLevel }, pino.destination(2))
  const colloquy = await openColloquy({
    ...configuration,
    store,
    ...(options.project !== undefined && { project: options.project }),
    actor: userName(),
    channel: 'server',
    ...((options.spans ?? settings.spans) && { tracer: await globalTracer() }),
    // The server sweeps itself, every project, and tells how it went.
    sweepEveryMs: null,
  })
  const made = server.createServer({
    colloquy,
    owner: { token, name: userName() },
    book: server.tokenBook(tokenFile),
    configuration: {
      hosts: [...settings.hosts, ...(options.allowHost ?? [])],
      origins: [...settings.origins, ...(options.origin ?? [])],
      limits: settings.limits,
      basePath: options.basePath ?? settings.basePath,
      ...(configuration.sweepEveryMs !== undefined && { sweepEveryMs: configuration.sweepEveryMs }),
      root: configuration.root ?? root,
      trace,
    },
  })
  const listening = await server
    .listen(made, {
      host: options.host ?? settings.host,
      port: options.port ?? settings.port,
      allowOutside: options.allowOutside ?? settings.allowOutside,
      token,
    })
    .catch(async error => {
      await made.close()
      await colloquy.close()
      throw error
    })
  if (options.dispatch ?? configuration.dispatch?.serve) {
    const told = ({ type, item, title, at: _, ...facts }: DispatchUpdate) =>
      trace.info({ item, title, ...facts }, `dispatch: ${type}`)
    colloquy.dispatcher
      .start({ onUpdate: told })
      .over.catch(error => trace.error({ error }, 'the dispatcher could not go on'))
  }
  const { url } = listening
  const entry = listening.entry()
  if (options.json) printJson({ url, entry, tokenFile, store: withoutPassword(store), project: colloquy.project })
  else {
    const { conversations } = await colloquy.stats()
    await printLines([
      `Colloquy serves project ${style.bold(safeLine(colloquy.project))} of ${safeLine(withoutPassword(store))}`,
      `Open      ${style.bold(entry)}`,
      `          ${style.dim('(good once, for ten minutes)')}`,
      `Programs  ${url}/api/v1 with the token in ${tokenFile}`,
      ...(namesModel(configuration)
        ? []
        : ['No model is named: summaries are made offline; agents.model in the configuration lets agents answer.']),
      ...(conversations === 0 ? [style.dim('Nothing is in it yet: the page offers a demo, which needs no key.')] : []),
    ])
  }
  await stopped(async () => {
    await listening.stop()
    await colloquy.close()
  })
}

/** The tracer of an SDK that was loaded before (`node --import`); without one it does nothing. */
async function globalTracer(): Promise<Tracer> {
  const { trace } = await import('@opentelemetry/api')
  return trace.getTracer('colloquy')
}

/** Resolves when a signal stops the server. */
function stopped(stop: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    whenStopped(() => stop().then(resolve, reject))
  })
}

function portNumber(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('It must be a number up to 65535.')
  return port
}

/** True if a model is configured for all agents or for one type of them. */
function namesModel({ agents, requests }: Configuration): boolean {
  return (agents?.model ?? requests?.model) !== undefined || Object.keys(agents?.models ?? {}).length > 0
}
