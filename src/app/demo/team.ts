/**
 * The demo's team: models that play PM, developer and QA from a script.
 *
 * Each decides by its request alone, as a real model does: the instruction, and the calls of the conversation so far. So
 * the demo continues after a crash at any point.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Model, ModelRequest } from '../../models/model.ts'
import { type Scripted, scriptedModel } from '../../models/scripted/index.ts'
import { type DemoTask, demoTasks } from './scripts.ts'

interface Call {
  name: string
  input: Record<string, unknown>
}

/** A call of the conversation with its result. */
interface PastCall extends Call {
  text: string
  isError: boolean
}

/** `paceMs` delays each answer, so that a person can follow. */
export function demoModels({ paceMs = 0 } = {}): Record<string, Model> {
  const model = (name: string, answer: (request: ModelRequest) => Scripted) =>
    scriptedModel(async request => {
      if (paceMs > 0) await wait(paceMs, undefined, { signal: request.signal }).catch(() => undefined)
      return answer(request)
    }, `demo:${name}`)
  return {
    pm: model('pm', planner),
    dev: model('dev', developer),
    qa: model('qa', reviewer),
    merge: model('merge', () => 'Nothing is left to merge.'),
    harness: model('harness', () => 'Go on.'),
  }
}

function planner(request: ModelRequest): Scripted {
  const calls = pastCalls(request)
  const isPlanned = calls.some(
    ({ name, isError, text }) => name !== 'read_file' && !isError && demoTasks.every(({ id }) => text.includes(id)),
  )
  if (isPlanned)
    return answer(`Three tasks, each on top of the one before: ${demoTasks.map(({ id }) => id).join(', ')}.`)
  if (!calls.some(call => call.name === 'read_file'))
    return ask('Let me see what is there.', { name: 'read_file', input: { path: 'README.md' } })
  // A failed plan_tasks may have been recorded: look at the graph before the next try.
  if (calls.at(-1)!.name === 'plan_tasks') return ask('', { name: 'show_graph', input: {} })
  const tasks = demoTasks.map(({ id, title, description, dependsOn }) => ({
    ...{ id, title, description },
    ...(dependsOn && { depends_on: dependsOn }),
  }))
  return ask(`One step at a time, beginning with "${demoTasks[0]!.title}".`, { name: 'plan_tasks', input: { tasks } })
}

function developer(request: ModelRequest): Scripted {
  const instruction = instructionOf(request)
  const task = taskIn(instruction)
  if (!task) return answer('I know nothing of this task.')
  const isSecond = instruction.includes('A review sent the work back') || instruction.includes('failed with exit code')
  const attempt = isSecond || !task.firstAttempt ? task : task.firstAttempt
  const calls = pastCalls(request)
  for (const file of attempt.files) {
    const write = { name: 'write_file', input: { ...file } }
    const next = unlessDone(write, calls, { name: 'read_file', input: { path: file.path } })
    if (next) return ask(next.name === 'write_file' ? `Writing ${file.path}.` : '', next)
  }
  const run = task.command && unlessDone({ name: 'run_command', input: { command: task.command } }, calls)
  return run ? ask('A quick look whether it parses.', run) : answer(attempt.answer)
}

function reviewer(request: ModelRequest): Scripted {
  const instruction = instructionOf(request)
  const task = taskIn(instruction)
  if (!task) return answer('I know nothing of this task.')
  const calls = pastCalls(request)
  if (calls.some(call => call.name === 'review' && !call.isError)) return answer('Reviewed.')
  const look = unlessDone({ name: 'read_file', input: { path: task.files[0]!.path } }, calls)
  if (look) return ask('Reading what was built.', look)
  const { reviewRule } = task
  const input =
    reviewRule && !reviewRule.pattern.test(instruction)
      ? { verdict: 'return', feedback: reviewRule.feedback }
      : { verdict: 'pass', feedback: 'It does what the task asks, and its tests would fail without it.' }
  return ask('', { name: 'review', input })
}

/** Returns the call unless it succeeded already. A refused call is repeated after `preparation`. */
function unlessDone(call: Call, calls: readonly PastCall[], preparation?: Call): Call | undefined {
  const tries = calls.filter(({ name, input }) => name === call.name && isDeepStrictEqual(input, call.input))
  if (tries.some(({ isError }) => !isError) || tries.length > 3) return undefined
  const refusedAt = calls.lastIndexOf(tries.at(-1)!)
  const isPrepared = calls
    .slice(refusedAt)
    .some(({ name, input }) => name === preparation?.name && input.path === preparation.input.path)
  return tries.length > 0 && preparation && !isPrepared ? preparation : call
}

/** Returns the newest message of the harness. */
function instructionOf({ messages }: ModelRequest): string {
  const texts = messages.flatMap(({ role, content }) =>
    role === 'user' ? content.flatMap(part => (part.type === 'text' ? [part.text] : [])) : [],
  )
  return texts.findLast(text => /(Iteration|Review) \d+ of|Plan the feature/.test(text)) ?? texts.join('\n')
}

function taskIn(instruction: string): DemoTask | undefined {
  const [, id] = / (?:on|of) task ([\w-]+): /.exec(instruction) ?? []
  return demoTasks.find(task => task.id === id)
}

/** Lists calls with results, in order. */
function pastCalls({ messages }: ModelRequest): PastCall[] {
  const parts = messages.flatMap(({ content }) => content)
  return parts.flatMap(part => {
    if (part.type !== 'tool-call') return []
    const result = parts.find(other => other.type === 'tool-result' && other.callId === part.callId)
    if (result?.type !== 'tool-result') return []
    const { name, input } = part
    return [{ name, input: input as Call['input'], text: result.text, isError: result.isError ?? false }]
  })
}

function ask(text: string, { name, input }: Call): Scripted {
  // A unique id: a call of a crashed process must not be taken for this one.
  return { ...(text !== '' && { text }), calls: [{ name, input, callId: `demo-${randomUUID()}` }], usage }
}

function answer(text: string): Scripted {
  return { text, usage }
}

const usage = { input: 1_200, output: 80 }
