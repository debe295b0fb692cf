/** `colloquy compare`: two conversations of one line side by side. */
import type { Command } from 'commander'
import type { Comparison, Since } from '../../conversation/lifecycle/branches.ts'
import { conversationOf } from '../lookup/conversation-of.ts'
import { reading } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { type Column, table } from '../terminal/table.ts'
import { columns, printJson, printLines, style } from '../terminal/terminal.ts'
import { cut } from '../terminal/text-width.ts'
import { count } from '../text/format.ts'
import { foldedMessage } from '../text/messages.ts'

export function addCompare(program: Command): void {
  program
    .command('compare')
    .summary('what two branches share, and what became of each')
    .description('Shows up to where two conversations of one line are the same, and what each said and became since.')
    .argument('<left>', 'id of a conversation')
    .argument('<right>', 'id of another: its branch, its parent, or a branch of the same parent')
    .addHelpText(
      'after',
      examples(['compare ID BRANCH', 'a conversation and its branch'], ['compare ID BRANCH --json', 'for a script']),
    )
    .action(async (left: string, right: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      await reading(options, async colloquy => {
        const [one, other] = [await conversationOf(colloquy, left), await conversationOf(colloquy, right)]
        const comparison = await colloquy.conversations.compare(one.id, other.id)
        if (options.json) return printJson(comparison)
        await printLines(comparisonLines(comparison))
      })
    })
}

function comparisonLines({ common, left, right, differences }: Comparison): string[] {
  return [
    safeLine(`The same up to version ${common.version} of ${common.conversationId}.`),
    ...sideLines(left),
    ...sideLines(right),
    ...(differences.length === 0 ? [] : ['', ...table(differences, differenceColumns)]),
  ]
}

function sideLines({ conversationId, title, version, messages, tokens, newest }: Since): string[] {
  const place = `${safeLine(conversationId)} · version ${version}`
  return [
    '',
    `${style.bold(safeLine(title))}  ${style.dim(place)}`,
    `  ${count(messages, 'message')} since (${count(tokens, 'token')})`,
    ...newest.map(message => cut(`  ${style.cyan(`#${message.version}`)} ${foldedMessage(message)}`, columns())),
  ]
}

const differenceColumns: Column<Comparison['differences'][number]>[] = [
  { heading: 'DIFFERS', of: ({ field }) => safeLine(field) },
  { heading: 'LEFT', of: ({ left }) => valueText(left), gives: true },
  { heading: 'RIGHT', of: ({ right }) => valueText(right), gives: true },
]

/** State such as the turns so far is long; --json has all of it. */
function valueText(value: unknown): string {
  if (value === undefined) return style.dim('none')
  return cut(safeLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')), 60)
}
