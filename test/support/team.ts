/** A small repository with a feature to build, and agents that play from a script. */
import { join } from 'node:path'
import type { Model, OpenOptions } from 'colloquy'
import type { TeamProgress } from 'colloquy/building'
import { type Scripted, scriptedModel } from 'colloquy/models/scripted'
import { freshColloquy } from './colloquy.ts'
import { commit, type Files, repositoryWith, runGit } from './repository.ts'

type ModelRequest = Parameters<Model['stream']>[0]
export type Player = (request: ModelRequest) => Scripted

/** The check of the shop: the answer must be good. */
export const isGood = 'grep -qs good answer.txt'

/** A repository on `main`, and a feature `f` in it with a task `t`, unless others are wanted. */
export async function teamShop({
  files = { 'README.md': 'A shop.\n' },
  players = {},
  tasks = [{ taskId: 't', title: 'Give a good answer', description: 'answer.txt must say good.' }],
  work = {},
  agents = {},
}: {
  files?: Files
  players?: Record<string, Player>
  tasks?: Array<{ taskId: string; title: string; description?: string; dependencies?: string[] }>
  work?: OpenOptions['work']
  agents?: OpenOptions['agents']
} = {}) {
  const root = repositoryWith(files)
  runGit(root, 'checkout', '--quiet', '-b', 'main')
  commit(root, 'first')
  const all: Record<string, Player> = { dev: writes('good'), qa: passes, ...players }
  const models = Object.fromEntries(Object.entries(all).map(([name, player]) => [name, scriptedModel(player, name)]))
  const place = await freshColloquy({
    root,
    work: { checks: { test: isGood }, ...work },
    agents: { models, ...agents },
  })
  const { colloquy } = place
  await colloquy.work.addFeature({ featureId: 'f', name: 'Answers', goal: 'Answers are good.' })
  if (tasks.length > 0) await colloquy.work.planTasks('f', { add: tasks })
  const progress: TeamProgress[] = []
  const onProgress = (step: TeamProgress) => void progress.push(step)
  const worktree = join(root, '.colloquy', 'worktrees', 'f')
  return { ...place, colloquy, root, worktree, told: progress, onProgress }
}

/** The text that code asked with last. */
export function promptOf({ messages }: ModelRequest): string {
  const texts = messages.flatMap(({ role, content }) =>
    role === 'user' ? content.flatMap(part => (part.type === 'text' ? [part.text] : [])) : [],
  )
  return texts.join('\n')
}

export function iterationOf(request: ModelRequest): number {
  return Number(/Iteration (\d+) of/.exec(promptOf(request))?.[1])
}

/** True if the conversation ends with the result of a call. */
export function hasResult({ messages }: ModelRequest): boolean {
  return messages.at(-1)?.content.some(part => part.type === 'tool-result') ?? false
}

const usage = { input: 100, output: 20 }

/** Calls tools one after the other, then says something. */
export function calls(...steps: Array<{ name: string; input: Record<string, unknown> }>): Player {
  return ({ messages }) => {
    const resultCount = messages.flatMap(({ content }) => content.filter(part => part.type === 'tool-result')).length
    const next = steps[resultCount]
    if (!next) return { text: 'Done.', usage }
    return { calls: [{ ...next, callId: `call-${crypto.randomUUID()}` }], usage }
  }
}

export function write(path: string, content: string) {
  return { name: 'write_file', input: { path, content } }
}

/** Writes one content after the other into answer.txt, an iteration each; the last again and again. */
export function writes(...contents: string[]): Player {
  return request => {
    const content = contents[Math.min(iterationOf(request), contents.length) - 1]!
    return calls(write('answer.txt', `${content}\n`))(request)
  }
}

export const passes: Player = calls({ name: 'review', input: { verdict: 'pass', feedback: 'Fine.' } })
