/** `colloquy demo`: a small repository, and a scripted team that builds a feature in it from plan to merge. */
import { basename, join, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { configurationFiles, readConfiguration } from '../../app/configuration/read-configuration.ts'
import type { OpenOptions } from '../../index.ts'
import { userName } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { printJson, printLines, style } from '../terminal/terminal.ts'
import { resultLines, teamScreen } from './team-screen.ts'

interface DemoOptions extends GlobalOptions {
  dir: string
}

export function addDemo(program: Command): void {
  program
    .command('demo')
    .summary('watch a team build a feature, without a key')
    .description(
      'Makes a small git repository, and a team of agents that plays from a script builds a feature in it: planned into three tasks, built until its tests pass, reviewed, sent back once, and merged. Repository and store stay, to look around in. Killed, it goes on when it is started again.',
    )
    .option('--dir <FOLDER>', 'where to make it', 'colloquy-demo')
    .addHelpText(
      'after',
      examples(['demo', 'in the folder colloquy-demo, here'], ['demo --dir ../till', 'somewhere else']),
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<DemoOptions>()
      await demo(resolve(options.dir), options)
    })
}

async function demo(folder: string, { json = false }: GlobalOptions): Promise<void> {
  const startedAt = Date.now()
  const [{ openColloquy }, { addDemoFeature, demoFeature, demoRepository, demoSettings }] = await Promise.all([
    import('../../index.ts'),
    import('../../app/demo/index.ts'),
  ])
  await demoRepository(folder)
  const configuration = await readConfiguration({ file: join(folder, configurationFiles[0]), env: {} })
  const colloquy = await openColloquy({
    ...(configuration as OpenOptions),
    ...(await demoSettings(folder)),
    store: `sqlite:${join(folder, '.colloquy', 'colloquy.db')}`,
    actor: userName(),
    channel: 'cli',
    sweepEveryMs: null,
  })
  try {
    await addDemoFeature(colloquy)
    const screen = teamScreen({ asksPerson: false })
    if (!json) await printLines([`A till in ${safeLine(folder)} is to learn about coupons.`, ''])
    const result = await colloquy.team.run(demoFeature.featureId, json ? {} : { onProgress: screen.show })
    await screen.end()
    const { clean } = await colloquy.verify()
    if (json) return printJson({ folder, ...result, clean, durationMs: Date.now() - startedAt })
    const { conversationId } = await colloquy.work.getFeature(demoFeature.featureId)
    await printLines([
      ...resultLines(result),
      style.dim(`${((Date.now() - startedAt) / 1000).toFixed(1)} s; the log is ${clean ? 'whole' : 'damaged'}.`),
      ...lookAround(folder, conversationId),
    ])
    if (result.outcome !== 'done') process.exitCode = 1
  } finally {
    await colloquy.close()
  }
}

function lookAround(folder: string, conversationId: string): string[] {
  const here = relative(process.cwd(), folder) || basename(folder)
  const place = here.startsWith('..') ? folder : here
  const commands: Array<[string, string]> = [
    [`cd ${place}`, 'the repository, with its store in .colloquy'],
    ['git log --graph --oneline', 'three merges, and the iterations in between'],
    ['npm test', 'its own tests, on what was merged'],
    ['colloquy status', 'where each task stands'],
    ['colloquy list', 'a conversation for the feature, one for each task'],
    [`colloquy timeline ${conversationId}`, 'the story of the feature'],
    ['colloquy verify', 'every event, hash by hash'],
  ]
  const width = Math.max(...commands.map(([command]) => command.length))
  return [
    '',
    'Look around:',
    ...commands.map(([command, does]) => `  ${command.padEnd(width)}  ${style.dim(`# ${does}`)}`),
  ]
}
