/** Prints a team at work line by line: which agent does what to which task, and how the checks end. */
import type { TeamProgress, TeamResult } from '../../agents/building/index.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { printLines, style } from '../terminal/terminal.ts'

interface TeamScreen {
  show(progress: TeamProgress): void
  /** Resolves when everything shown is written. */
  end(): Promise<void>
}

/** @param asksPerson whether a person has to approve commands */
export function teamScreen({ asksPerson }: { asksPerson: boolean }): TeamScreen {
  let written = Promise.resolve()
  let task: string | undefined
  const print = (...lines: string[]) => {
    written = written.then(() => printLines(lines)).catch(() => undefined)
  }
  return {
    show(progress) {
      if ('taskId' in progress && progress.taskId !== undefined && progress.taskId !== task) {
        task = progress.taskId
        print('', style.bold(safeLine(task)) + ('title' in progress ? style.dim(`  ${safeLine(progress.title)}`) : ''))
      }
      print(...linesOf(progress, asksPerson))
    },
    end: () => written,
  }
}

function linesOf(progress: TeamProgress, asksPerson: boolean): string[] {
  switch (progress.type) {
    case 'waiting':
      return [style.yellow(`Waiting: another process had the work, and its lease holds until ${progress.until}.`)]
    case 'planning':
      return [style.bold('plan')]
    case 'planned':
      return progress.tasks.map(({ taskId, title, dependencies }) => {
        const after = dependencies.length > 0 ? style.dim(`  after ${safeLine(dependencies.join(', '))}`) : ''
        return `  ${style.cyan(safeLine(taskId))}  ${safeLine(title)}${after}`
      })
    case 'task': {
      const { from, to, reason } = progress
      const colour = to === 'merged' ? style.green : to === 'failed' || to === 'blocked' ? style.red : style.cyan
      // A task that QA returns: its reason was printed with the review.
      const why = reason && from !== 'in_qa' ? `: ${safeLine(reason)}` : ''
      return [`  ${style.dim(from)} → ${colour(to)}${why}`]
    }
    case 'iteration-start':
      return [
        agentLine(
          'dev',
          style.bold(`iteration ${progress.number}`) + (progress.round > 1 ? ` of round ${progress.round}` : ''),
        ),
      ]
    case 'check-end': {
      const { name, passed, durationMs, output } = progress.check
      const time = style.dim(`${(durationMs / 1000).toFixed(1)} s`)
      if (passed) return [`          ${style.green('✓')} ${safeLine(name)} ${time}`]
      return [`          ${style.red('✗')} ${safeLine(name)} ${time}`, ...failingLines(output)]
    }
    case 'loop-end': {
      const { outcome, iterations, reason } = progress
      const how = outcome === 'passed' ? style.green('all checks pass') : style.yellow(outcome)
      const after = `after ${iterations === 1 ? '1 iteration' : `${iterations} iterations`}`
      return [agentLine('dev', `${how} ${after}${reason ? `: ${safeLine(reason)}` : ''}`)]
    }
    case 'review': {
      const { verdict, feedback } = progress
      const how = verdict === 'pass' ? style.green('passes') : style.yellow('returns it')
      return [agentLine('qa', `${how}: ${safeLine(feedback)}`)]
    }
    case 'conflicts':
      return [agentLine('merge', style.yellow(`conflicts in ${safeLine(progress.files.join(', '))}`))]
    case 'landing': {
      const { outcome, base, commit = '', reason } = progress
      const line =
        outcome === 'landed'
          ? style.green(`merged into ${safeLine(base)} as ${commit.slice(0, 9)}`)
          : style.yellow(`${outcome}: ${safeLine(reason ?? '')}`)
      return [agentLine('merge', line)]
    }
    case 'approval':
      return [
        agentLine(
          'harness',
          `${progress.answer === 'yes' ? style.green('yes') : style.yellow(safeLine(progress.answer))}`,
        ),
      ]
    case 'run':
      return runLines(progress, asksPerson)
    default:
      return []
  }
}

function runLines({ agent, part }: Extract<TeamProgress, { type: 'run' }>, asksPerson: boolean): string[] {
  if (part.type === 'tool-start') {
    const input = (part.input ?? {}) as Record<string, unknown>
    const about = [input.path, input.command].find(value => typeof value === 'string') ?? ''
    return [style.dim(agentLine(agent, `${safeLine(part.name)} ${safeLine(String(about))}`.trimEnd()))]
  }
  if (part.type === 'tool-end' && part.isError)
    return [style.yellow(agentLine(agent, `✗ ${safeLine(part.text).slice(0, 160)}`))]
  if (part.type === 'question') {
    const how = asksPerson || part.kind === 'question' ? `  (colloquy answer ${part.questionId} …)` : ''
    return [style.yellow(agentLine(agent, `${safeLine(part.text)}${how}`))]
  }
  if (part.type === 'run-end' && part.outcome !== 'done')
    return [style.yellow(agentLine(agent, `${part.outcome}: ${safeLine(part.reason ?? '')}`))]
  return []
}

function agentLine(agent: string, text: string): string {
  return `    ${safeLine(agent).padEnd(7)} ${text}`
}

/** The lines of a check's output that name what failed. */
function failingLines(output: string): string[] {
  const lines = output.split('\n').map(safeLine).filter(Boolean)
  const named = lines.filter(line => /^(not ok|✖|✗|×|FAIL)/.test(line))
  const failures = named.length > 0 ? named : lines.filter(line => /error|fail|expected/i.test(line))
  return (failures.length > 0 ? failures.slice(0, 2) : lines.slice(-2)).map(line =>
    style.dim(`            ${line.slice(0, 140)}`),
  )
}

export function resultLines({ outcome, reason, tasks }: TeamResult): string[] {
  const merged = tasks.filter(task => task.state === 'merged').length
  const colour = outcome === 'done' ? style.green : style.yellow
  return [
    '',
    `${colour(style.bold(outcome))}  ${merged} of ${tasks.length} tasks merged${reason ? `. ${safeLine(reason)}` : ''}`,
  ]
}
