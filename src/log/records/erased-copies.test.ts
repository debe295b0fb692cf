import { describe, expect, it } from 'vitest'
import { RewrittenProof, rewrittenRow } from './erased-copies.ts'

const described = { type: 'compaction.failed', sessionId: 's', compactionId: 'c', reason: 'r' } as const
/** Any fact will do here; only its type says that it may repeat what messages said. */
const row = { ...rewrittenRow({ version: 7, event: described }), type: 'checkpoint.taken' }
const erased = (rewritten: Array<{ version: number; digest: string }>) =>
  ({ type: 'message.erased', messageId: 'm', version: 3, rewritten }) as const

describe('a fact that is not what its digest says', () => {
  it('a fact that differs from its digest is proved by the erasure that names its present content', () => {
    const proof = new RewrittenProof()
    expect(proof.defers(row)).toBe(true)
    expect(proof.unproved).toEqual([7])
    proof.take(erased([{ version: 7, digest: row.digest }]))
    expect(proof.unproved).toEqual([])
  })

  it('a fact that differs from its digest may be rewritten more than once: the last time counts', () => {
    const proof = new RewrittenProof()
    proof.defers(row)
    proof.take(erased([{ version: 7, digest: rewrittenRow({ version: 7, event: described }).digest }]))
    expect(proof.unproved).toEqual([7])
    proof.take(erased([{ version: 7, digest: row.digest }]))
    expect(proof.unproved).toEqual([])
  })

  it('a fact that differs from its digest is not proved by an erasure of something else, nor with other words', () => {
    const proof = new RewrittenProof()
    proof.defers({ ...row, body: row.body.replace('r', 'R') })
    proof.take(erased([{ version: 7, digest: row.digest }]))
    proof.take(erased([{ version: 8, digest: row.digest }]))
    expect(proof.unproved).toEqual([7])
  })

  it('a fact of a kind that is never rewritten is damage at once when it differs from its digest', () => {
    expect(new RewrittenProof().defers({ ...row, type: 'message.added' })).toBe(false)
  })
})
