/**
 * The demo's team: models that play PM, developer and QA from a script.
 *
 * Each decides from the request alone, as a real one does: what it is asked, and what of it the conversation shows as done.
 * So it goes on rightly after a crash, wherever that was.
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

/** A call of this conversation, and how it went. */
interface Done extends Call {
  text: string
  isError: boolean
}

/** `paceMs`: how long each thinks about an answer, so that one can follow. */
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
  const done = doneIn(request)
  const isPlanned = done.some(
    ({ name, isError, text }) => name !== 'read_file' && !isError && demoTasks.every(one => text.includes(one.id)),
  )
  if (isPlanned)
    return answer(`Three tasks, each on top of the one before: ${demoTasks.map(one => one.id).join(', ')}.`)
  if (!done.some(call => call.name === 'read_file'))
    return ask('Let me see what is there.', { name: 'read_file', input: { path: 'README.md' } })
  // A plan whose fate is not known is looked up before it is written again.
  if (done.at(-1)!.name === 'plan_tasks') return ask('', { name: 'show_graph', input: {} })
  const tasks = demoTasks.map(({ id, title, description, dependsOn }) => ({
    ...{ id, title, description },
    ...(dependsOn && { depends_on: dependsOn }),
  }))
  return ask(`One step at a time, beginning with "${demoTasks[0]!.title}".`, { name: 'plan_tasks', input: { tasks } })
}

function developer(request: ModelRequest): Scripted {
  const asked = askedIn(request)
  const task = taskIn(asked)
  if (!task) return answer('I know nothing of this task.')
  const isSecond = asked.includes('A review sent the work back') || asked.includes('failed with exit code')
  const { files, said } = isSecond || !task.first ? task : task.first
  const done = doneIn(request)
  for (const file of files) {
    const write = { name: 'write_file', input: { ...file } }
    const next = unlessDone(write, done, { name: 'read_file', input: { path: file.path } })
    if (next) return ask(next.name === 'write_file' ? `Writing ${file.path}.` : '', next)
  }
  const run = task.command && unlessDone({ name: 'run_command', input: { command: task.command } }, done)
  return run ? ask('A quick look whether it parses.', run) : answer(said)
}

function reviewer(request: ModelRequest): Scripted {
  const asked = askedIn(request)
  const task = taskIn(asked)
  if (!task) return answer('I know nothing of this task.')
  const done = doneIn(request)
  if (done.some(call => call.name === 'review' && !call.isError)) return answer('Reviewed.')
  const look = unlessDone({ name: 'read_file', input: { path: task.files[0]!.path } }, done)
  if (look) return ask('Reading what was built.', look)
  const { wanted } = task
  const input =
    wanted && !wanted.pattern.test(asked)
      ? { verdict: 'return', feedback: wanted.feedback }
      : { verdict: 'pass', feedback: 'It does what the task asks, and its tests would fail without it.' }
  return ask('', { name: 'review', input })
}

/** A call that is still to be made, or what must be done first where it was refused. */
function unlessDone(call: Call, done: readonly Done[], first?: Call): Call | undefined {
  const tries = done.filter(one => one.name === call.name && isDeepStrictEqual(one.input, call.input))
  if (tries.some(one => !one.isError) || tries.length > 3) return undefined
  const refusedAt = done.lastIndexOf(tries.at(-1)!)
  const isPrepared = done.slice(refusedAt).some(one => one.name === first?.name && isSamePath(one, first))
  return tries.length > 0 && first && !isPrepared ? first : call
}

function isSamePath(one: Call, other: Call): boolean {
  return one.input.path === other.input.path
}

/** The newest thing that was asked in so many words. */
function askedIn({ messages }: ModelRequest): string {
  const texts = messages.flatMap(({ role, content }) =>
    role === 'user' ? content.flatMap(part => (part.type === 'text' ? [part.text] : [])) : [],
  )
  return texts.findLast(text => /(Iteration|Review) \d+ of|Plan the feature/.test(text)) ?? texts.join('\n')
}

function taskIn(asked: string): DemoTask | undefined {
  const [, id] = / (?:on|of) task ([\w-]+): /.exec(asked) ?? []
  return demoTasks.find(task => task.id === id)
}

/** Calls that have results, in order. */
function doneIn({ messages }: ModelRequest): Done[] {
  const parts = messages.flatMap(({ content }) => content)
  return parts.flatMap(part => {
    if (part.type !== 'tool-call') return []
    const result = parts.find(one => one.type === 'tool-result' && one.callId === part.callId)
    if (result?.type !== 'tool-result') return []
    const { name, input } = part
    return [{ name, input: input as Call['input'], text: result.text, isError: result.isError ?? false }]
  })
}

function ask(text: string, { name, input }: Call): Scripted {
  // A fresh id each time: a call of the process before must not be taken for this one.
  return { ...(text !== '' && { text }), calls: [{ name, input, callId: `demo-${randomUUID()}` }], usage: usual }
}

function answer(text: string): Scripted {
  return { text, usage: usual }
}

const usual = { input: 1_200, output: 80 }
