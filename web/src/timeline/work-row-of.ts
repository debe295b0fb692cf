/** Converts facts about work to rows: plans, states, Ralph loops, reviews, merges, dispatches. Pure. */
import type { StoredEvent } from 'colloquy/client'
import { counted, duration } from '../format.ts'
import { divider, fact, type Row, type Tone } from './row.ts'

/** Undefined for other facts. */
export function workRowOf(event: StoredEvent): Row | undefined {
  switch (event.type) {
    case 'feature.described':
      return divider('quiet', 'Feature described', event.goal, event.spec)
    case 'work.described':
      return divider('quiet', 'Described', event.title, event.description)
    case 'tasks.planned': {
      const { added, changed, removed, reason } = event
      const parts = [
        ...(added.length > 0 ? [`${counted(added.length, 'task')} added`] : []),
        ...(changed.length > 0 ? [`${changed.length} changed`] : []),
        ...(removed.length > 0 ? [`${removed.length} removed`] : []),
      ]
      const list = [...added, ...changed].map(({ title, dependencies }) =>
        dependencies.length > 0 ? `- ${title} (after ${dependencies.join(', ')})` : `- ${title}`,
      )
      return divider('turn', `Plan: ${parts.join(', ')}`, reason, list.join('\n'))
    }
    case 'work.moved':
      return divider(toneOf(event.to), `${words(event.from)} → ${words(event.to)}${by(event.by?.agent)}`, event.reason)
    case 'work.reported':
      return divider('good', `Report${by(event.by?.agent)}`, event.summary)
    case 'work.attempted':
      if (event.outcome === 'done') return fact(`Tried, and done${by(event.by?.agent)}`)
      return divider('bad', `An attempt ${event.outcome}${by(event.by?.agent)}`, event.reason)
    case 'worktree.created':
      return fact(`Work tree ${event.path} on ${event.branch}`)
    case 'worktree.removed':
      return fact(`Work tree ${event.path} removed`)
    case 'ralph.started': {
      const { agent, round, checks, feedback } = event
      const until = checks.length > 0 ? `, until ${checks.join(', ')} pass` : ''
      return divider('turn', `${agent} begins round ${round}${until}`, feedback)
    }
    case 'iteration.ended': {
      const { number, checks, durationMs, said } = event
      const marks = checks.map(({ name, passed }) => `${passed ? '✓' : '✗'} ${name}`)
      const failed = checks.filter(({ passed }) => !passed)
      const text = [`Iteration ${number}`, ...marks, duration(durationMs)].join(' · ')
      const outputs = failed.map(({ command, output }) => `\`${command}\`\n\n~~~text\n${output}\n~~~`)
      return divider(failed.length === 0 ? 'good' : 'warn', text, said, ...outputs)
    }
    case 'ralph.ended': {
      const after = `after ${counted(event.iterations, 'iteration')}`
      if (event.outcome === 'passed') return divider('good', `All checks pass ${after}`)
      return divider(event.outcome === 'aborted' ? 'warn' : 'bad', `${words(event.outcome)} ${after}`, event.reason)
    }
    case 'review.given': {
      const { agent, verdict, feedback } = event
      return verdict === 'pass'
        ? divider('good', `${agent} passes it`, feedback)
        : divider('warn', `${agent} sends it back`, feedback)
    }
    case 'landing.started':
      return fact(`${event.branch} is taken into ${event.base}`)
    case 'conflicts.found':
      return divider(
        'warn',
        `Conflicts in ${counted(event.files.length, 'file')}`,
        event.files.map(file => `- ${file}`).join('\n'),
      )
    case 'landing.ended':
      return event.outcome === 'landed'
        ? divider('good', `Landed${event.commit === undefined ? '' : ` as ${event.commit.slice(0, 9)}`}`)
        : divider(event.outcome === 'waiting' ? 'warn' : 'bad', `Landing: ${words(event.outcome)}`, event.reason)
    case 'dispatch.started':
      return fact(`Given to ${event.agent} (${words(event.state)})`)
    case 'dispatch.ended': {
      const { agent, outcome, next } = event
      if (next) return divider('turn', `${agent} hands it on to ${next.agent}`, next.message)
      return outcome === 'failed' || outcome === 'crashed'
        ? divider('bad', `${agent}: ${outcome}`)
        : fact(`${agent}: ${outcome}`)
    }
    case 'guard.tripped':
      return divider('bad', 'Stopped: a person has to look at it', event.finding)
    case 'guard.cleared':
      return divider('quiet', 'It may go on', event.reason)
    default:
      return undefined
  }
}

const by = (agent: string | undefined) => (agent === undefined ? '' : `, by ${agent}`)
const words = (name: string) => name.replaceAll('_', ' ')

function toneOf(state: string): Tone {
  if (state === 'merged' || state === 'done') return 'good'
  if (state === 'failed' || state === 'blocked' || state === 'parked') return 'bad'
  return 'turn'
}
