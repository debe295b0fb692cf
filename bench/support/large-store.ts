/** A store of many conversations, built once per run and shared by the benchmarks that need it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tell } from './benchmark.ts'
import { newSession, openAt } from './ours.ts'
import type { Sizes } from './sizes.ts'
import { messages } from './text.ts'
import { count } from './units.ts'

export interface LargeStore {
  folder: string
  path: string
  sessions: readonly string[]
}

let built: Promise<LargeStore> | undefined

export function largeStore({ conversations, messagesEach }: Sizes['open'], tell: Tell): Promise<LargeStore> {
  built ??= build(conversations, messagesEach, tell)
  return built
}

export async function removeLargeStore(): Promise<void> {
  const store = await built?.catch(() => undefined)
  built = undefined
  if (store) await rm(store.folder, { recursive: true, force: true })
}

/** So many conversations grow at the same time, each one message after another. */
const atOnce = 64

async function build(conversations: number, messagesEach: number, tell: Tell): Promise<LargeStore> {
  const folder = await mkdtemp(join(tmpdir(), 'colloquy-bench-'))
  try {
    const path = join(folder, 'large.db')
    const colloquy = await openAt(path, { tokens: 'fast', durability: 'relaxed' })
    const next = messages(7)
    const sessions: string[] = []
    async function grow(): Promise<void> {
      while (sessions.length < conversations) {
        const index = sessions.push('') - 1
        if (index % 1000 === 0) tell(`building ${count(conversations)} conversations: ${count(index)}`)
        const session = await newSession(colloquy, `conversation ${index}`)
        sessions[index] = session
        for (let message = 0; message < messagesEach; message++) {
          await colloquy.sessions.addMessage(session, { role: 'user', content: next() })
        }
      }
    }
    await Promise.all(Array.from({ length: atOnce }, grow))
    await colloquy.close()
    return { folder, path, sessions }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}
