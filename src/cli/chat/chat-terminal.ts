/** A chat on a terminal: lines in, the answer as it comes, Ctrl-C stops the answer and keeps it. */

import type { LivePart } from '../../agents/runs/live-channel.ts'
import { ColloquyError } from '../../errors.ts'
import type { Colloquy, Session } from '../../index.ts'
import { tell } from '../failure.ts'
import { type MarkdownStream, markdownStream } from '../terminal/markdown-stream.ts'
import { safeLine, safePieces } from '../terminal/safe-text.ts'
import { columns, errorStyle, note, print, style } from '../terminal/terminal.ts'
import { count } from '../text/format.ts'
import { answered } from './chat-answer.ts'
import { type ChatState, chatCommand } from './chat-commands.ts'
import { lineReader } from './line-reader.ts'

/** So many of one's own messages can be brought back with the arrow keys. */
const remembered = 100

export async function chatOnTerminal(colloquy: Colloquy, first: Session, options: { model?: string }): Promise<void> {
  const state: ChatState = { session: first, ...(options.model !== undefined && { model: options.model }) }
  const own = (await colloquy.sessions.getRecentContext(first.id, remembered)).filter(one => one.role === 'user')
  let running: AbortController | undefined
  const reader = lineReader({
    history: own.map(one => one.content.split('\n')[0]!).reverse(),
    historySize: remembered,
    onInterrupt(hadText) {
      if (running) running.abort()
      else note(hadText ? '' : errorStyle.dim('\n/quit or Ctrl-D leaves.'))
    },
    onClose: () => running?.abort(),
  })

  async function talk(message: string): Promise<void> {
    running = new AbortController()
    const screen = answerScreen(state.session.agentName)
    let asked = Promise.resolve()
    try {
      const result = await answered(colloquy, state.session, message, {
        ...(state.model !== undefined && { model: state.model }),
        signal: running.signal,
        onPart: part => {
          screen.show(part)
          // One after the other, however many the agent asks at once.
          if (part.type === 'question') asked = asked.then(() => askedFor(part, screen))
        },
      })
      screen.end()
      if (result.outcome !== 'done') note(errorStyle.yellow(safeLine(`[${result.outcome}: ${result.reason ?? ''}]`)))
      note(errorStyle.dim(await statusLine(colloquy, state.session.id, result.usage.cost)))
    } catch (error) {
      screen.end()
      if (!(error instanceof ColloquyError)) throw error
      tell(error, { json: false })
    } finally {
      // A question that was answered elsewhere is closed.
      running.abort()
      running = undefined
    }
  }

  async function askedFor(
    { questionId, text, choices }: Extract<LivePart, { type: 'question' }>,
    screen: ReturnType<typeof answerScreen>,
  ): Promise<void> {
    const offered = choices ? ` [${safeLine(choices.join('/'))}]` : ''
    screen.end()
    const answer = await reader.ask(`${style.yellow(safeLine(text))}${offered} `, running?.signal)
    if (answer) await colloquy.agents.answer(questionId, answer).catch(error => tell(error, { json: false }))
  }

  note(errorStyle.dim(safeLine(`Chat with ${first.agentName}. /help lists commands; \\ at the end of a line goes on.`)))
  while (!reader.isOver) {
    const line = await reader.ask(style.bold(style.cyan('you › ')))
    if (reader.isOver) break
    if (!line) continue
    if (!line.startsWith('/')) await talk(line)
    else if ((await chatCommand(colloquy, state, line)) === 'quit') break
  }
  reader.close()
}

/** The answer as it comes, tools on lines of their own. */
function answerScreen(agent: string) {
  let text: { safe: (piece: string) => string; markdown: MarkdownStream } | undefined
  let end = ''
  const write = (shown: string) => {
    if (shown === '') return
    end = shown.at(-1)!
    void print(shown).catch(() => undefined)
  }
  const endText = () => {
    if (!text) return
    write(text.markdown.end())
    if (end !== '\n') write('\n')
    text = undefined
  }
  const line = (shown: string) => {
    endText()
    write(`${shown}\n`)
  }
  return {
    show(part: LivePart) {
      if (part.type === 'text-start') {
        endText()
        write(style.bold(style.green(`${safeLine(agent)} › `)))
        text = { safe: safePieces(), markdown: answerText() }
      } else if (part.type === 'text-delta') write(text?.markdown.write(text.safe(part.text)) ?? '')
      else if (part.type === 'waiting') line(style.dim(safeLine(`… ${part.failure.kind}; trying again`)))
      else if (part.type === 'tool-start')
        line(style.dim(`  ⚙ ${safeLine(`${part.name} ${JSON.stringify(part.input)}`).slice(0, 200)}`))
      else if (part.type === 'tool-end' && part.isError) line(style.yellow(`  ✗ ${safeLine(part.text).slice(0, 200)}`))
    },
    end: endText,
  }
}

/** Marks stay as they are without colours. */
function answerText(): MarkdownStream {
  return style.isColorSupported ? markdownStream(style, columns) : { write: text => text, end: () => '' }
}

/** Describes how full the next request would be, and how far compaction is. */
async function statusLine({ sessions }: Colloquy, sessionId: string, cost: number | undefined): Promise<string> {
  const { used, budget, untilTrigger, level } = await sessions.getMetrics(sessionId)
  const distance = level === 'compact' ? 'compaction is due' : `${count(untilTrigger)} until compaction`
  const price = cost === undefined ? '' : ` · $${cost.toFixed(4)}`
  return `${count(used)} of ${count(budget, 'token')} (${Math.round((100 * used) / budget)} %) · ${distance}${price}`
}
