/** `colloquy stats`: how much there is, of a project, a conversation or a session. */
import type { Command } from 'commander'
import type { Colloquy } from '../../index.ts'
import { find } from '../lookup/find.ts'
import { otherProjects, reading } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { fields } from '../terminal/table.ts'
import { note, printJson, printLines, style } from '../terminal/terminal.ts'
import { count, localTime, relativeTime } from '../text/format.ts'

export function addStats(program: Command): void {
  program
    .command('stats')
    .summary('count messages and tokens')
    .description('Totals of the project, or of one conversation or session.')
    .argument('[id]', 'id of a conversation or a session')
    .addHelpText(
      'after',
      examples(
        ['stats', 'the whole project'],
        ['stats ID', 'a conversation or a session'],
        ['stats --json | jq .stats.tokens', 'for a script'],
      ),
    )
    .action(async (id: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      await reading(options, colloquy =>
        id === undefined ? projectStats(colloquy, options) : statsOf(colloquy, id, options),
      )
    })
}

async function projectStats(colloquy: Colloquy, { json }: GlobalOptions): Promise<void> {
  const { project } = colloquy
  const stats = await colloquy.stats()
  if (json) return printJson({ kind: 'project', project, stats })
  await printLines([
    style.bold(safeLine(`Project ${project}`)),
    ...fields([
      ['conversations', count(stats.conversations)],
      ['sessions', count(stats.sessions)],
      ['events', count(stats.events)],
      ['messages', count(stats.messages)],
      ...tokenFields(stats),
      ['compactions', count(stats.compactions)],
    ]),
  ])
  if (stats.conversations === 0) {
    const others = otherProjects(project, await colloquy.projects())
    if (others) note(safeLine(`This project is empty.${others}`))
  }
}

async function statsOf(colloquy: Colloquy, id: string, { json }: GlobalOptions): Promise<void> {
  const found = await find(colloquy, id)
  if (found.kind === 'session') {
    const { stats, agentName } = found.session
    if (json) return printJson({ kind: 'session', id, stats })
    const { total } = stats
    return printLines([
      style.bold(safeLine(`Session of ${agentName}`)),
      ...fields([
        ['messages', `${count(stats.messages)} in its window, ${count(total.messages)} in all`],
        ['tokens', `${count(stats.tokens)} in its window, ${count(total.tokens)} in all`],
        ['reported in', `${count(stats.tokensIn)} in its window, ${count(total.tokensIn)} in all`],
        ['reported out', `${count(stats.tokensOut)} in its window, ${count(total.tokensOut)} in all`],
        ['compactions', count(stats.compactions)],
        ['last activity', `${localTime(stats.lastActivityAt)} ${style.dim(`(${relativeTime(stats.lastActivityAt)})`)}`],
      ]),
    ])
  }
  const { version, activeAt, title } = found.conversation
  const sums = await colloquy.conversations.stats(id)
  if (json)
    return printJson({ kind: 'conversation', id, stats: { events: version, ...sums, lastActivityAt: activeAt } })
  await printLines([
    style.bold(safeLine(title)),
    ...fields([
      ['events', count(version)],
      ['messages', count(sums.messages)],
      ...tokenFields(sums),
      ['last activity', `${localTime(activeAt)} ${style.dim(`(${relativeTime(activeAt)})`)}`],
    ]),
  ])
}

function tokenFields(sums: { tokens: number; input: number; output: number }): Array<readonly [string, string]> {
  return [
    ['tokens', count(sums.tokens)],
    ['reported in', count(sums.input)],
    ['reported out', count(sums.output)],
  ]
}
