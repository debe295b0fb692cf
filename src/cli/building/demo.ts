/** Runs the demo: a small repository, and a scripted team that builds a feature in it. */
import { basename, join, relative, resolve } from 'node:path'
import { configurationFiles, readConfiguration } from '../../app/configuration/configuration-reader.ts'
import { addDemoFeature, demoRepository, demoSettings, runDemo } from '../../app/demo/index.ts'
import { openColloquy } from '../../index.ts'
import { exitCode } from '../failure.ts'
import { userName } from '../open.ts'
import type { GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { printJson, printLines, style } from '../terminal/terminal.ts'
import { resultLines, teamScreen } from './team-screen.ts'

export async function runDemoIn(directory: string, { json = false }: GlobalOptions): Promise<void> {
  const startedAt = Date.now()
  const folder = resolve(directory)
  await demoRepository(folder)
  const configuration = await readConfiguration({ file: join(folder, configurationFiles[0]), env: {} })
  const colloquy = await openColloquy({
    ...configuration,
    ...(await demoSettings(folder)),
    store: `sqlite:${join(folder, '.colloquy', 'colloquy.db')}`,
    actor: userName(),
    channel: 'cli',
    sweepEveryMs: null,
  })
  try {
    const { conversationId } = await addDemoFeature(colloquy)
    const screen = teamScreen({ asksPerson: false })
    if (!json) await printLines([`A till in ${safeLine(folder)} is to learn about coupons.`, ''])
    const result = await runDemo(colloquy, json ? {} : { onProgress: screen.show })
    await screen.end()
    const { clean } = await colloquy.verify()
    if (json) return printJson({ folder, ...result, clean, durationMs: Date.now() - startedAt })
    await printLines([
      ...resultLines(result),
      style.dim(`${((Date.now() - startedAt) / 1000).toFixed(1)} s; the log is ${clean ? 'whole' : 'damaged'}.`),
      ...nextCommands(folder, conversationId),
    ])
    if (result.outcome !== 'done') process.exitCode = exitCode.failed
  } finally {
    await colloquy.close()
  }
}

function nextCommands(folder: string, conversationId: string): string[] {
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
