/** `colloquy orchestrate`: has the orchestrator decide who acts next on a conversation, until there is nothing left. */
import type { Command } from 'commander'
import { exitCode } from '../failure.ts'
import { conversationOf } from '../lookup/conversation-of.ts'
import { writing } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { whenStopped } from '../terminal/stop-signals.ts'
import { errorStyle, note, printJson, printLines } from '../terminal/terminal.ts'
import { count } from '../text/format.ts'

export function addOrchestrate(program: Command): void {
  program
    .command('orchestrate')
    .summary('have agents routed on a conversation')
    .description(
      'Has a model decide who acts next, runs those agents side by side, waits for them, and decides again, until there is nothing left to do. It says nothing itself. Routing that goes in circles is stopped and stays stopped until `colloquy turns CONVERSATION --clear-loop`.',
    )
    .argument('<conversation>', 'id of a conversation, or of a session on it')
    .argument('[message]', 'said to the conversation first')
    .option('--model <NAME>', 'the model that decides (default: as configured for the agent orchestrator)')
    .addHelpText(
      'after',
      examples(
        ['orchestrate ID', 'go on with what was said'],
        ["orchestrate ID 'Build the login page'", 'say it, and have it done'],
      ),
    )
    .action(async (id: string, message: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { model?: string }>()
      const stopping = new AbortController()
      const letGo = whenStopped(() => stopping.abort())
      await writing(options, async colloquy => {
        const { id: conversationId } = await conversationOf(colloquy, id)
        const result = await colloquy.orchestrate(conversationId, {
          signal: stopping.signal,
          ...(message !== undefined && { message }),
          ...(options.model !== undefined && { model: options.model }),
          onTurn: ({ agents, reason }) => {
            if (!options.json) note(`${errorStyle.cyan('→')} ${safeLine(`${agents.join(', ')}: ${reason}`)}`)
          },
        })
        if (options.json) await printJson({ conversationId, ...result })
        else {
          const why = result.reason ? `: ${result.reason}` : ''
          await printLines([safeLine(`${result.outcome} after ${count(result.turns, 'turn')}${why}`)])
        }
        if (result.outcome === 'blocked' || result.outcome === 'failed') process.exitCode = exitCode.failed
      }).finally(letGo)
    })
}
