/** `colloquy answer`: what agents wait to be told, and telling them. */
import type { Command } from 'commander'
import type { Question } from '../../index.ts'
import { reading, writing } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine, safeText } from '../terminal/safe-text.ts'
import { printJson, printLines, style } from '../terminal/terminal.ts'
import { relativeTime } from '../text/format.ts'

export function addAnswer(program: Command): void {
  program
    .command('answer')
    .summary('answer what agents ask')
    .description(
      'Lists what agents wait to be told, or answers one of them. Questions wait across restarts; whoever runs the agent goes on with the answer.',
    )
    .argument('[question]', 'id of a question, or the end of it; without one all are listed')
    .argument('[answer...]', 'the answer; for leave to do something: yes, or no and why')
    .addHelpText(
      'after',
      examples(
        ['answer', 'what waits'],
        ['answer ID yes', 'gives leave'],
        ["answer ID 'Blue, like the other pages'", 'answers a question'],
      ),
    )
    .action(async (id: string | undefined, words: string[], _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      if (id === undefined) return reading(options, async colloquy => show(await colloquy.agents.questions(), options))
      const answer = words.join(' ').trim()
      if (answer === '') command.error('error: the answer is missing; give it behind the id.')
      await writing(options, async colloquy => {
        const open = await colloquy.agents.questions()
        const meant = open.find(one => one.id === id) ?? only(open.filter(one => one.id.endsWith(id)))
        const answered = await colloquy.agents.answer(meant?.id ?? id, answer)
        if (options.json) return printJson(answered)
        await printLines([safeLine(`Answered ${answered.agent}: ${answer}`)])
      })
    })
}

function only<T>(found: readonly T[]): T | undefined {
  return found.length === 1 ? found[0] : undefined
}

async function show(questions: readonly Question[], { json }: GlobalOptions): Promise<void> {
  if (json) return printJson({ questions })
  if (questions.length === 0) return printLines(['No agent waits for an answer.'])
  await printLines(questions.flatMap(linesOf))
}

function linesOf({ id, agent, kind, text, title, choices, default: otherwise, askedAt, dueAt }: Question): string[] {
  const facts = [
    choices ? `choices: ${choices.join(', ')}` : '',
    otherwise === undefined ? '' : `default: ${otherwise}`,
    `asked ${relativeTime(askedAt)}`,
    dueAt === undefined ? '' : `open until ${relativeTime(dueAt)}`,
  ]
  return [
    `${style.cyan(safeLine(id))}  ${style.bold(safeLine(agent))} ${kind === 'approval' ? 'wants leave' : 'asks'} in ${safeLine(title)}`,
    ...safeText(text)
      .split('\n')
      .map(line => `  ${line}`),
    style.dim(safeLine(`  ${facts.filter(Boolean).join(' · ')}`)),
  ]
}
