import { describe, expect, it } from 'vitest'
import { revive, schemaOf, type Upcasts } from './event.ts'

/** An upcast table for a type that changed twice. */
const casts: Upcasts = {
  'conversation.completed': [
    ({ text, ...rest }) => ({ ...rest, remark: text }),
    ({ remark, ...rest }) => ({ ...rest, summary: `${remark}.` }),
  ],
}

describe('reading back a stored event', () => {
  it('reading an event takes one of today as it is', () => {
    expect(revive('conversation.completed', 1, { summary: 'done' })).toEqual({
      type: 'conversation.completed',
      summary: 'done',
    })
  })

  it('reading an event upcasts an old one step by step, from the version it was written with', () => {
    const today = { type: 'conversation.completed', summary: 'done.' }
    expect(revive('conversation.completed', 1, { text: 'done' }, casts)).toEqual(today)
    expect(revive('conversation.completed', 2, { remark: 'done' }, casts)).toEqual(today)
    expect(revive('conversation.completed', 3, { summary: 'done.' }, casts)).toEqual(today)
  })

  it('reading an event leaves other types alone', () => {
    expect(revive('conversation.reopened', 1, {}, casts)).toEqual({ type: 'conversation.reopened' })
  })

  it('reading an event passes an unknown type through, untouched', () => {
    const data = { question: 'lunch?', type: 'poll' }
    expect(revive('poll.opened', 1, data)).toEqual({
      type: 'unknown',
      storedType: 'poll.opened',
      storedSchema: 1,
      data,
    })
  })

  it('reading an event passes a newer schema of a known type through, untouched', () => {
    const data = { summary: { de: 'fertig' } }
    for (const schema of [4, 9]) {
      expect(revive('conversation.completed', schema, data, casts)).toEqual({
        type: 'unknown',
        storedType: 'conversation.completed',
        storedSchema: schema,
        data,
      })
    }
  })

  it('reading an event passes what is no object through', () => {
    for (const data of [null, 7, 'text', true]) {
      expect(revive('conversation.completed', 1, data)).toMatchObject({ type: 'unknown', data })
    }
  })

  it('reading an event rejects an upcast that makes something impossible', () => {
    const wrong: Upcasts = { 'conversation.completed': [() => ({ summary: 7 })] }
    expect(() => revive('conversation.completed', 1, {}, wrong)).toThrow()
  })

  it('reading an event does not change its input when it upcasts', () => {
    const data = Object.freeze({ text: 'done' })
    revive('conversation.completed', 1, data, casts)
    expect(data).toEqual({ text: 'done' })
  })
})

describe('the schema that is written today', () => {
  it('the current schema number is one more than the number of upcasts', () => {
    expect(schemaOf('conversation.completed', casts)).toBe(3)
    expect(schemaOf('conversation.created', casts)).toBe(1)
    expect(schemaOf('message.added')).toBe(1)
  })
})
