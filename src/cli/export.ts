/** `colloquy export`: a conversation as an archive that can be restored, or as a page to read. */
import { type Command, Option } from 'commander'
import type { Colloquy, Conversation } from '../index.ts'
import { findConversation } from './find.ts'
import { clearingUp } from './interruption.ts'
import { markdownOf } from './markdown.ts'
import { reading } from './open.ts'
import { examples, type GlobalOptions } from './options.ts'
import { writeFile } from './output-file.ts'
import { progressLine } from './progress.ts'
import { safeJsonText, safeLine } from './safe-text.ts'
import { print, printJson, printLines } from './terminal.ts'
import { count } from './words.ts'

type Format = 'jsonl' | 'markdown'

interface ExportOptions extends GlobalOptions {
  format: Format
  output?: string
  force?: boolean
}

/** Lines are gathered up to about this size: a write for each would take longer than the export itself. */
const chunkCharacters = 64 * 1024

export function addExport(program: Command): void {
  program
    .command('export')
    .summary('write a conversation to a file')
    .description(
      'Writes a conversation as an archive (jsonl: every event with its hashes; restore reads it) or to be read (markdown).',
    )
    .argument('<conversation>', 'id of a conversation')
    .addOption(new Option('--format <FORMAT>', 'what to write').choices(['jsonl', 'markdown']).default('jsonl'))
    .option('--output <FILE>', 'where to; a name that ends in .gz is packed (default: stdout)')
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
      if (options.json && options.format === 'markdown' && options.output === undefined) {
        command.error('error: markdown is not JSON: give it an --output, or leave --json out.')
      }
      await reading(options, async colloquy => {
        const conversation = await findConversation(colloquy, id)
        await (options.output === undefined
          ? toStdout(colloquy, conversation, options.format)
          : toFile(colloquy, conversation, { ...options, output: options.output }))
      })
    })
}

async function toStdout(colloquy: Colloquy, conversation: Conversation, format: Format): Promise<void> {
  const isShown = process.stdout.isTTY
  for await (const chunk of chunks(linesOf(colloquy, conversation, format))) {
    await print(format === 'jsonl' && isShown ? safeJsonText(chunk) : chunk)
  }
}

async function toFile(
  colloquy: Colloquy,
  conversation: Conversation,
  { format, output, force = false, json }: ExportOptions & { output: string },
): Promise<void> {
  const progress = progressLine('Exporting', 'event')
  let lines = 0
  const counted = async function* (signal: AbortSignal) {
    for await (const line of linesOf(colloquy, conversation, format)) {
      signal.throwIfAborted()
      // An archive has lines for large parts too, so this is near enough rather than exact.
      progress.report(Math.min(++lines, conversation.version), conversation.version)
      yield line
    }
  }
  const written = await clearingUp(signal => writeFile(output, chunks(counted(signal)), { force })).finally(
    progress.end,
  )
  const { id, version } = conversation
  if (json)
    return printJson({ conversationId: id, format, events: version, output: written.path, bytes: written.bytes })
  await printLines([safeLine(`Wrote ${count(version, 'event')} to ${written.path} (${count(written.bytes, 'byte')}).`)])
}

function linesOf(colloquy: Colloquy, conversation: Conversation, format: Format): AsyncIterable<string> {
  return format === 'markdown' ? markdownOf(colloquy, conversation) : colloquy.conversations.export(conversation.id)
}

async function* chunks(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let gathered = ''
  for await (const line of lines) {
    gathered += `${line}\n`
    if (gathered.length < chunkCharacters) continue
    yield gathered
    gathered = ''
  }
  if (gathered !== '') yield gathered
}
