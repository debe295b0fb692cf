/** A chat on a terminal: lines in, the answer as it comes, Ctrl-C stops the answer and keeps it. */
import { createInterface } from 'node:readline/promises'
import { ColloquyError } from '../errors.ts'
import type { Colloquy, LivePart, Session } from '../index.ts'
import { answered } from './chat-answer.ts'
import { type ChatState, chatCommand } from './chat-commands.ts'
import { tell } from './failure.ts'
import { safeLine, safeText } from './safe-text.ts'
import { errorStyle, note, print, style } from './terminal.ts'
import { count } from './words.ts'

/** So many of one's own messages can be brought back with the arrow keys. */
const remembered = 100

export async function chatOnTerminal(colloquy: Colloquy, first: Session, options: { model?: string }): Promise<void> {
  const state: ChatState = { session: first, ...(options.model !== undefined && { model: options.model }) }
  const own = (await colloquy.sessions.getRecentContext(first.id, remembered)).filter(one => one.role === 'user')
  const terminal = createInterface({
    input: process.stdin,
    output: process.stdout,
    history: own.map(one => one.content.split('\n')[0]!).reverse(),
    historySize: remembered,
    // A resize draws the prompt anew, also while nothing is asked for.
    prompt: '',
  })
  let isOver = false
  let running: AbortController | undefined
  let asks = new AbortController()
  terminal.on('close', () => {
    isOver = true
    running?.abort()
    asks.abort()
  })
  terminal.on('SIGINT', () => {
    if (running) running.abort()
    else {
      note(errorStyle.dim('\n/quit or Ctrl-D leaves.'))
      asks.abort()
    }
  })

  /** What was typed; a line that ends with a backslash goes on in the next. Undefined when it was broken off. */
  async function typed(prompt: string): Promise<string | undefined> {
    asks = new AbortController()
    const lines: string[] = []
    try {
      for (;;) {
        const line = await terminal.question(lines.length === 0 ? prompt : style.dim('… '), { signal: asks.signal })
        lines.push(line.replace(/\\$/, ''))
        if (!line.endsWith('\\')) return lines.join('\n').trim()
      }
    } catch {
      return undefined
    }
  }

  async function talk(message: string): Promise<void> {
    running = new AbortController()
    const screen = answerScreen(state.session.agentName)
    try {
      const result = await answered(colloquy, state.session, message, {
        ...(state.model !== undefined && { model: state.model }),
        signal: running.signal,
        onPart: part => {
          screen.show(part)
          if (part.type === 'question') void askedFor(part)
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
      running = undefined
    }
  }

  async function askedFor({ questionId, text, choices }: Extract<LivePart, { type: 'question' }>): Promise<void> {
    const offered = choices ? ` [${safeLine(choices.join('/'))}]` : ''
    const answer = await typed(`\n${style.yellow(safeLine(text))}${offered} `)
    if (answer) await colloquy.agents.answer(questionId, answer).catch(error => tell(error, { json: false }))
  }

  note(
    errorStyle.dim(
      safeLine(`Chat with ${first.agentName}. /help lists commands; a backslash at the end goes on in the next line.`),
    ),
  )
  while (!isOver) {
    const line = await typed(style.bold(style.cyan('you › ')))
    if (isOver) break
    if (!line) continue
    if (!line.startsWith('/')) await talk(line)
    else if ((await chatCommand(colloquy, state, line)) === 'quit') break
  }
  terminal.close()
}

/** The answer as it comes, tools on lines of their own. */
function answerScreen(agent: string) {
  let isInText = false
  const write = (text: string) => void print(text).catch(() => undefined)
  const line = (text: string) => {
    if (isInText) write('\n')
    isInText = false
    write(`${text}\n`)
  }
  return {
    show(part: LivePart) {
      if (part.type === 'text-start') {
        write(`${isInText ? '\n' : ''}${style.bold(style.green(`${safeLine(agent)} › `))}`)
        isInText = true
      } else if (part.type === 'text-delta') write(safeText(part.text))
      else if (part.type === 'waiting') line(style.dim(safeLine(`… ${part.failure.kind}; trying again`)))
      else if (part.type === 'tool-start')
        line(style.dim(`  ⚙ ${safeLine(`${part.name} ${JSON.stringify(part.input)}`).slice(0, 200)}`))
      else if (part.type === 'tool-end' && part.isError) line(style.yellow(`  ✗ ${safeLine(part.text).slice(0, 200)}`))
    },
    end() {
      if (isInText) write('\n')
      isInText = false
    },
  }
}

/** How full the next request would be, and how far compaction is. */
async function statusLine({ sessions }: Colloquy, sessionId: string, cost: number | undefined): Promise<string> {
  const { used, budget, untilTrigger, level } = await sessions.getMetrics(sessionId)
  const distance = level === 'compact' ? 'compaction is due' : `${count(untilTrigger)} until compaction`
  const price = cost === undefined ? '' : ` · $${cost.toFixed(4)}`
  return `${count(used)} of ${count(budget, 'token')} (${Math.round((100 * used) / budget)} %) · ${distance}${price}`
}
