/** `colloquy checkpoint`: the summary that stands for a session's older messages, how it came to be, what is behind it. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Checkpoint, CheckpointItem, Colloquy, Session } from '../../index.ts'
import type { CheckpointSection } from '../../log/events/checkpoint.ts'
import type { CheckpointDiff } from '../../request/compaction/diff.ts'
import { renderVersions, sectionHeadings } from '../../request/compaction/render-checkpoint.ts'
import { sessionOf } from '../lookup/session-of.ts'
import { reading } from '../open.ts'
import { examples, type GlobalOptions, wholeNumber } from '../options.ts'
import { safeLine, safeText } from '../terminal/safe-text.ts'
import { fields, table } from '../terminal/table.ts'
import { columns, note, printJson, printLines, style } from '../terminal/terminal.ts'
import { cut, wrap } from '../terminal/text-width.ts'
import { count, workItemText } from '../text/format.ts'
import { messageLines } from '../text/messages.ts'

interface CheckpointOptions extends GlobalOptions {
  history?: boolean
  diff?: number[]
  expand?: string
}

const headings = new Map<CheckpointSection, string>(sectionHeadings)

export function addCheckpoint(program: Command): void {
  program
    .command('checkpoint')
    .summary("show a session's checkpoints")
    .description(
      'Shows the newest checkpoint of a session, each item with its id and the versions of the messages it came from; or the checkpoints before it, what changed between two, or the messages behind an item.',
    )
    .argument('<session>', 'id of a session')
    .addOption(new Option('--history', 'every checkpoint, newest first').conflicts(['diff', 'expand']))
    .addOption(
      new Option('--diff <A B...>', 'what changed from checkpoint A to B').argParser(twoNumbers).conflicts('expand'),
    )
    .option('--expand <ITEM>', 'the messages behind an item, by its id')
    .addHelpText(
      'after',
      examples(
        ['checkpoint ID', 'the newest one'],
        ['checkpoint ID --history', 'all of them, a line each'],
        ['checkpoint ID --diff 1 2', 'what the second changed'],
        ['checkpoint ID --expand ITEM', 'what was said, word for word'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CheckpointOptions>()
      const { diff, expand, history } = options
      const [first, second] = diff ?? []
      if (diff && (first === undefined || second === undefined)) {
        command.error('error: --diff takes the numbers of two checkpoints, such as --diff 1 2.')
      }
      await reading(options, async colloquy => {
        const session = await sessionOf(colloquy, id)
        if (first !== undefined && second !== undefined) await showDiff(colloquy, session, { first, second }, options)
        else if (expand !== undefined) await showExpanded(colloquy, session, expand, options)
        else if (history) await showHistory(colloquy, session, options)
        else await showNewest(colloquy, session, options)
      })
    })
}

function twoNumbers(text: string, sofar: readonly number[] = []): number[] {
  if (sofar.length === 2) throw new InvalidArgumentError('It takes two numbers; the session goes before it.')
  return [...sofar, wholeNumber(text)]
}

async function showNewest({ sessions }: Colloquy, session: Session, { json }: GlobalOptions): Promise<void> {
  const checkpoint = await sessions.getCheckpoint(session.id)
  if (json) return printJson({ sessionId: session.id, checkpoint: checkpoint ?? null })
  if (!checkpoint) return noneYet(session)
  const { number, base, from, upTo, messages, author, items, tokens } = checkpoint
  await printLines([
    style.bold(safeLine(`Checkpoint ${number} of ${session.agentName} on ${workItemText(session.workItem)}`)),
    ...fields([
      ['stands for', `versions ${from} to ${upTo} (${count(messages, 'message')})`],
      ['author', safeLine(author)],
      ['made from', base === 0 ? 'messages alone' : `checkpoint ${base} and the messages after it`],
      ['tokens', `${count(tokens.checkpoint)}; ${count(tokens.totalSaved)} saved so far`],
    ]),
    ...sectionHeadings.flatMap(([section, heading]) =>
      block(
        heading,
        items.filter(item => item.section === section).flatMap(item => itemLines(item)),
      ),
    ),
    ...carriedLines(checkpoint),
  ])
}

async function showHistory({ sessions }: Colloquy, session: Session, { json }: GlobalOptions): Promise<void> {
  const history = await sessions.getCheckpointHistory(session.id)
  if (json) return printJson({ sessionId: session.id, history })
  if (history.length === 0) return noneYet(session)
  await printLines(
    table<Checkpoint>(history, [
      { heading: 'NUMBER', of: ({ number }) => style.bold(String(number)), align: 'right' },
      { heading: 'AUTHOR', of: ({ author }) => safeLine(author), gives: true },
      { heading: 'VERSIONS', of: ({ from, upTo }) => `${from}–${upTo}`, align: 'right' },
      { heading: 'MESSAGES', of: ({ messages }) => count(messages), align: 'right' },
      { heading: 'ITEMS', of: ({ items }) => count(items.length), align: 'right' },
      { heading: 'TOKENS', of: ({ tokens }) => count(tokens.checkpoint), align: 'right' },
      { heading: 'READ', of: ({ tokens }) => count(tokens.lastCompactionInput), align: 'right' },
      { heading: 'SAVED SO FAR', of: ({ tokens }) => count(tokens.totalSaved), align: 'right' },
    ]),
  )
}

async function showDiff(
  { sessions }: Colloquy,
  session: Session,
  { first, second }: { first: number; second: number },
  { json }: GlobalOptions,
): Promise<void> {
  const diff = await sessions.diffCheckpoints(session.id, first, second)
  if (json) return printJson({ sessionId: session.id, first, second, diff })
  const lines = diffLines(diff)
  await printLines([
    style.bold(`From checkpoint ${first} to ${second}`),
    ...(lines.length === 0 ? ['No item changed.'] : lines),
  ])
}

function diffLines({ added, resolved, reopened, moved, rewritten, dropped }: CheckpointDiff): string[] {
  const whole = (items: readonly CheckpointItem[], mark: string) =>
    items.flatMap(item => itemLines(item, { mark, isPlaced: true }))
  return [
    ...block('Added', whole(added, style.green('+'))),
    ...block('Resolved', whole(resolved, style.cyan('✓'))),
    ...block('Reopened', whole(reopened, style.yellow('○'))),
    ...block(
      'Moved',
      moved.flatMap(({ item, from, to }) => [
        ...itemLines(item, { mark: style.yellow('→') }),
        style.dim(`    ${headings.get(from)} → ${headings.get(to)}`),
      ]),
    ),
    ...block(
      'Rewritten',
      rewritten.flatMap(({ item, before }) => [
        ...textLines(before, style.red('-')),
        ...itemLines(item, { mark: style.green('+') }),
      ]),
    ),
    ...block('No longer in it', whole(dropped, style.red('-'))),
  ]
}

async function showExpanded(
  { sessions }: Colloquy,
  session: Session,
  itemId: string,
  { json }: GlobalOptions,
): Promise<void> {
  const { item, checkpoint } = await sessions.getCheckpointItem(session.id, itemId)
  const messages = await sessions.expand(session.id, itemId)
  if (json) return printJson({ sessionId: session.id, checkpoint, item, messages })
  await printLines([
    style.bold(headings.get(item.section)!),
    ...itemLines(item),
    ...messages.flatMap(message => ['', ...messageLines(message, { whole: true })]),
  ])
}

function noneYet({ id }: Session): void {
  note(safeLine(`This session has no checkpoint yet. 'colloquy compact ${id}' takes one.`))
}

// Layout of items.

/** The text, and below it what one needs to go on from here. */
function itemLines(item: CheckpointItem, { mark = '-', isPlaced = false } = {}): string[] {
  const { id, section, text, sources, since, resolved, pinned } = item
  const facts = [
    safeLine(id),
    `from ${renderVersions(sources)}`,
    isPlaced && headings.get(section),
    `since checkpoint ${since}`,
    pinned && 'pinned',
    resolved && `resolved in checkpoint ${resolved.in} by ${renderVersions(resolved.sources)}`,
  ]
  const lines = textLines(text, mark)
  return [
    ...(resolved ? lines.map(line => style.dim(line)) : lines),
    `    ${style.dim(facts.filter(Boolean).join(' · '))}`,
  ]
}

function textLines(text: string, mark: string): string[] {
  return wrap(safeText(text), columns() - 4).map((line, index) => `  ${index === 0 ? mark : ' '} ${line}`)
}

/** Sections that code computed from the messages, in the words of the request. */
function carriedLines({ carried, ralphLoop }: Checkpoint): string[] {
  const { openCalls, filesRead, filesChanged, userMessages } = carried
  const oneLine = (text: string) => `  - ${cut(safeLine(text), columns() - 4)}`
  return [
    ...block(
      'Tool calls without a result yet',
      openCalls.map(({ name, callId, version }) => oneLine(`${name} (call ${callId}, version ${version})`)),
    ),
    ...block('Files changed', filesChanged.map(oneLine)),
    ...block('Files read', filesRead.filter(file => !filesChanged.includes(file)).map(oneLine)),
    ...block(
      'Newest user messages',
      userMessages.map(({ version, text }) => oneLine(`#${version} ${text}`)),
    ),
    ...block('Ralph loop', ralphLoop ? ralphLines(ralphLoop).map(oneLine) : []),
  ]
}

function ralphLines(loop: NonNullable<Checkpoint['ralphLoop']>): string[] {
  const { currentIteration, passedChecks, failedChecks, lastError } = loop
  return [
    `iteration ${currentIteration}`,
    ...(passedChecks.length > 0 ? [`passed: ${passedChecks.join(', ')}`] : []),
    ...(failedChecks.length > 0 ? [`failed: ${failedChecks.join(', ')}`] : []),
    ...(lastError === undefined ? [] : [`last error: ${lastError}`]),
  ]
}

/** Lines under a heading; nothing when there are none. */
function block(heading: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', style.bold(heading), ...lines]
}
