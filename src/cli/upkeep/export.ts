/** `colloquy export`: a conversation as an archive that can be restored, or as a page to read. */
import { type Command, Option } from 'commander'
import { ConversationDamaged } from '../../errors.ts'
import type { Colloquy, Conversation } from '../../index.ts'
import { provedLines } from '../../log/upkeep/archive-check.ts'
import { gatheredLines } from '../../stores/common/batch-lines.ts'
import { exitCode } from '../failure.ts'
import { findConversation } from '../lookup/find.ts'
import { storePlace } from '../lookup/store-path.ts'
import { configurationOf, reading } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { clearingUp } from '../terminal/interruption.ts'
import { writeFile } from '../terminal/output-file.ts'
import { progressLine } from '../terminal/progress.ts'
import { safeJson, safeJsonText, safeLine } from '../terminal/safe-text.ts'
import { errorStyle, note, print, printJson, printLines } from '../terminal/terminal.ts'
import { count } from '../text/format.ts'
import { markdownOf } from '../text/markdown-page.ts'

type Format = 'jsonl' | 'markdown'

interface ExportOptions extends GlobalOptions {
  format: Format
  output?: string
  force?: boolean
}

export function addExport(program: Command): void {
  program
    .command('export')
    .summary('write a conversation to a file')
    .description(
      'Writes a conversation as an archive (jsonl: every event with its hashes; restore reads it) or to be read (markdown). Exits with 3 when events of it are damaged, so that the archive cannot be restored.',
    )
    .argument('<conversation>', 'id of a conversation')
    .addOption(new Option('--format <FORMAT>', 'what to write').choices(['jsonl', 'markdown']).default('jsonl'))
    .option('--output <FILE>', 'where to; a name that ends in .gz is packed (default, and -: stdout)')
    .option('--force', 'replace the file if there is one; a link is followed')
    .addHelpText(
      'after',
      examples(
        ['export ID --output login.jsonl.gz', 'an archive; restore reads it'],
        ['export ID --format markdown > login.md', 'to be read by people'],
      ),
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<ExportOptions>()
      if (options.json && options.format === 'markdown' && (options.output ?? '-') === '-') {
        command.error('error: markdown is not JSON: give it an --output, or leave --json out.')
      }
      await reading(options, async colloquy => {
        const conversation = await findConversation(colloquy, id)
        await (options.output === undefined || options.output === '-'
          ? toStdout(colloquy, conversation, options)
          : toFile(colloquy, conversation, { ...options, output: options.output }))
      })
    })
}

async function toStdout(colloquy: Colloquy, conversation: Conversation, options: ExportOptions): Promise<void> {
  const { format, json } = options
  const isShown = process.stdout.isTTY
  const damages: Damages = []
  for await (const chunk of gatheredLines(linesOf(colloquy, conversation, format, damages))) {
    await print(format === 'jsonl' && isShown ? safeJsonText(chunk) : chunk)
  }
  if (damages.length === 0) return
  process.exitCode = exitCode.damageFound
  note(json ? safeJson({ damages }) : damageLine(damages))
}

async function toFile(
  colloquy: Colloquy,
  conversation: Conversation,
  options: ExportOptions & { output: string },
): Promise<void> {
  const { format, output, force = false, json, store } = options
  const keep = storePlace(store ?? (await configurationOf(options)).store).file
  const progress = progressLine('Exporting', 'event')
  const damages: Damages = []
  let lines = 0
  const counted = async function* (signal: AbortSignal) {
    for await (const line of linesOf(colloquy, conversation, format, damages)) {
      signal.throwIfAborted()
      // An archive has lines for large parts too, so this is near enough rather than exact.
      progress.report(Math.min(++lines, conversation.version), conversation.version)
      yield line
    }
  }
  const written = await clearingUp(signal =>
    writeFile(output, gatheredLines(counted(signal)), { force, keep }),
  ).finally(progress.end)
  const isDamaged = damages.length > 0
  if (isDamaged) process.exitCode = exitCode.damageFound
  const { id, version } = conversation
  const { path, bytes } = written
  if (json) {
    const found = isDamaged ? { damages } : {}
    return printJson({ conversationId: id, format, events: version, output: path, bytes, ...found })
  }
  await printLines([safeLine(`Wrote ${count(version, 'event')} to ${path} (${count(bytes, 'byte')}).`)])
  if (isDamaged) note(damageLine(damages))
}

type Damages = Array<ConversationDamaged['damages'][number]>

/**
 * Yields the lines, and adds to `damages` what would keep `restore` from accepting the archive. A page shows damage in
 * its place.
 */
async function* linesOf(
  colloquy: Colloquy,
  conversation: Conversation,
  format: Format,
  damages: Damages,
): AsyncGenerator<string> {
  if (format === 'markdown') return yield* markdownOf(colloquy, conversation)
  try {
    yield* provedLines(colloquy.conversations.export(conversation.id))
  } catch (error) {
    if (!(error instanceof ConversationDamaged)) throw error
    damages.push(...error.damages)
  }
}

/** Warns that the lines are no backup. */
function damageLine(damages: Damages): string {
  const named = damages.slice(0, 5).map(({ version }) => `#${version}`)
  const which = `${named.join(', ')}${damages.length > named.length ? ' …' : ''}`
  return `${errorStyle.red('damaged')}  ${which}: restore refuses this archive. 'colloquy verify' says what is wrong.`
}
