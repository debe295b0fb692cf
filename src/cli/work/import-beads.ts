/** Writes beads that were read from a file: many at a time, each after those it depends on. */
import { IllegalState } from '../../errors.ts'
import type { ReadBead } from '../../exchange/formats/beads/index.ts'
import type { Colloquy } from '../../index.ts'

const atOnce = 50

export async function importBeads(
  colloquy: Colloquy,
  beads: readonly ReadBead[],
  report: (done: number, total: number) => void,
): Promise<{ imported: number; known: number }> {
  let imported = 0
  let known = 0
  const written = new Set<string>()
  let waiting = [...beads]
  while (waiting.length > 0) {
    // They come in order, so the first of those that wait can always go.
    const free = waiting.filter(bead => bead.dependencies.every(id => written.has(id))).slice(0, atOnce)
    const outcomes = await Promise.all(free.map(bead => write(colloquy, bead)))
    for (const isNew of outcomes) isNew ? imported++ : known++
    for (const { beadId } of free) written.add(beadId)
    const gone = new Set(free)
    waiting = waiting.filter(bead => !gone.has(bead))
    report(written.size, beads.length)
  }
  return { imported, known }
}

/** False when it was there already. Comments come after it, each once: what a stopped import left out, the next brings. */
async function write(colloquy: Colloquy, { comments, ...bead }: ReadBead): Promise<boolean> {
  const isNew = await added(colloquy, bead)
  const { conversationId } = comments.length > 0 ? await colloquy.work.getBead(bead.beadId) : { conversationId: '' }
  for (const [index, { author, text, id, created_at: createdAt }] of comments.entries()) {
    const comment = { ...(id !== undefined && { id }), ...(createdAt !== undefined && { createdAt }) }
    await colloquy.conversations.addEvent(
      conversationId,
      { role: 'user', author, content: text, metadata: { comment } },
      { idempotencyKey: JSON.stringify(['bead comment', bead.beadId, id ?? index]) },
    )
  }
  return isNew
}

async function added(colloquy: Colloquy, bead: Omit<ReadBead, 'comments'>): Promise<boolean> {
  try {
    await colloquy.work.addBead(bead)
    return true
  } catch (error) {
    if (error instanceof IllegalState) return false
    throw error
  }
}
