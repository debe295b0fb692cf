/** The session an id stands for, for commands that only sessions have an answer to. */
import { NotFound } from '../../errors.ts'
import type { Colloquy, Session } from '../../index.ts'
import { find } from './find.ts'

/** @throws {NotFound} when there is no such session; it says so when the id is a conversation's */
export async function sessionOf(colloquy: Colloquy, id: string): Promise<Session> {
  const found = await find(colloquy, id).catch(error => {
    throw error instanceof NotFound ? new NotFound('session', id) : error
  })
  if (found.kind === 'session') return found.session
  const hint = `It is a conversation; 'colloquy list --sessions --conversation ${id}' shows its sessions.`
  throw new NotFound('session', id, hint)
}
