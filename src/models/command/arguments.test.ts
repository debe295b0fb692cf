import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ModelUnknown } from '../../errors.ts'
import { argumentsIn } from './arguments.ts'

it.each([
  ['claude -p', ['claude', '-p']],
  ['  codex   exec - ', ['codex', 'exec', '-']],
  [`agent --say 'two words' "and \\"quoted\\""`, ['agent', '--say', 'two words', 'and "quoted"']],
  [`agent --empty '' x`, ['agent', '--empty', '', 'x']],
  ['/opt/my\\ agent/run', ['/opt/my agent/run']],
  [`a'b'"c"d`, ['abcd']],
  ['agent $HOME *.ts ; rm -rf / | tee `id`', ['agent', '$HOME', '*.ts', ';', 'rm', '-rf', '/', '|', 'tee', '`id`']],
])('a command line cuts %s into words', (line, words) => {
  expect(argumentsIn(line)).toEqual(words)
})

it('a command line with an open quote, or without a command, is refused', () => {
  expect(() => argumentsIn("agent 'oops")).toThrow(ModelUnknown)
  expect(() => argumentsIn('   ')).toThrow(ModelUnknown)
  expect(() => argumentsIn("''")).toThrow(ModelUnknown)
})

it('quoted words come back as they were', () => {
  const word = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(fc.array(word, { minLength: 1 }), words => {
      const line = ['agent', ...words.map(one => `'${one.replaceAll("'", `'"'"'`)}'`)].join(' ')
      expect(argumentsIn(line)).toEqual(['agent', ...words])
    }),
  )
})
