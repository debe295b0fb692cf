/** Secrets of known shapes are taken out, wherever in a message they stand; nothing else is touched. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { redactMessage } from './redaction.ts'

const userMessage = (text: string) => ({ role: 'user', parts: [{ type: 'text', text }] }) as const
const textOf = (text: string) => {
  const [part] = redactMessage({ ...userMessage(text), parts: [{ type: 'text', text }] }).parts
  return part?.type === 'text' ? part.text : ''
}
const key = (prefix: string, length: number) => prefix + 'aB3'.repeat(20).slice(0, length)

it.each([
  ['anthropic-key', key('sk-ant-api03-', 40)],
  ['openai-key', key('sk-proj-', 40)],
  ['github-token', key('ghp_', 36)],
  ['github-token', key('github_pat_', 40)],
  ['aws-key', `AKIA${'ABCD'.repeat(4)}`],
  ['google-key', key('AIza', 35)],
  ['slack-token', key('xoxb-', 30)],
  ['colloquy-token', key('clq_', 43)],
  ['json-web-token', `${key('eyJ', 20)}.${key('', 20)}.${key('', 20)}`],
  ['private-key', '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----'],
])('redaction removes a %s', (kind, secret) => {
  expect(textOf(`Use "${secret}", please.`)).toBe(`Use "[redacted ${kind}]", please.`)
  const call = { type: 'tool-call', callId: 'c', name: 'sh', input: { args: [`echo ${secret}`] } } as const
  const message = redactMessage({ role: 'assistant', parts: [call], metadata: { note: secret } })
  expect(JSON.stringify(message)).not.toContain(secret)
  expect(message.redacted).toEqual([{ kind, count: 2 }])
})

it('redaction leaves everything else as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), text => {
      fc.pre(!/sk-|gh[pousr]_|github_pat|AKIA|ASIA|AIza|xox|clq_|eyJ|PRIVATE KEY/.test(text))
      const message = { ...userMessage(text), parts: [{ type: 'text' as const, text }] }
      expect(redactMessage(message)).toBe(message)
    }),
  )
})

it('redaction handles hostile text of a megabyte', () => {
  for (const piece of ['-eyJ', 'sk-', 'eyJaaaaaaaaaa.', '-----BEGIN PRIVATE KEY-----', 'AKIA', 'xoxb']) {
    expect(textOf(piece.repeat(1_000_000 / piece.length))).toBeTypeOf('string')
  }
})
