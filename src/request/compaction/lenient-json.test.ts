import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseLeniently, readLeniently } from './lenient-json.ts'

describe('parseLeniently', () => {
  it.each([
    ['plain', '{"a": 1}', { a: 1 }],
    ['fenced', 'Here you are:\n```json\n{"a": [1, 2]}\n```\nAnything else?', { a: [1, 2] }],
    ['amid prose', 'I would say {"a": true} is right.', { a: true }],
    ['after braces in prose', 'A set {x | x > 1} is written {so}. {"a": 1}', { a: 1 }],
    ['after thinking aloud', 'Use {"a": ...} I think.</think>{"a": "yes", "b": 2}', { a: 'yes', b: 2 }],
    ['trailing commas', '{"a": [1, 2,], "b": {"c": 1,},}', { a: [1, 2], b: { c: 1 } }],
    ['single quotes', "{'a': 'it's', 'b': 'x'}", { a: "it's", b: 'x' }],
    ['bare keys', '{a: 1, some_key: "x", some-other: null}', { a: 1, some_key: 'x', 'some-other': null }],
    ['bare words', '{"state": open, "done": True, "by": None}', { state: 'open', done: true, by: null }],
    ['comments', '{"a": 1, // one\n /* two */ "b": 2}', { a: 1, b: 2 }],
    ['raw line breaks in strings', '{"a": "one\ntwo"}', { a: 'one\ntwo' }],
    ['quotes left unescaped', '{"a": "she said "no" to it", "b": 1}', { a: 'she said "no" to it', b: 1 }],
    ['quotes and commas left unescaped', '{"a": "say "yes", then go", "b": 1}', { a: 'say "yes", then go', b: 1 }],
    ['escapes JSON does not know', '{"a": "\\d+ \\u00e9 C:\\Users"}', { a: '\\d+ é C:\\Users' }],
    ['a comma forgotten', '{"a": "x"\n"b": "y"}', { a: 'x', b: 'y' }],
    ['a bracket forgotten', '{"a": [{"b": 1], "c": 2}', { a: [{ b: 1 }], c: 2 }],
    ['JSON as a JSON string', '"{\\"a\\": 1}"', { a: 1 }],
    ['an array', 'The list: [1, "two"]', [1, 'two']],
    ['a key called __proto__', '{"__proto__": {"x": 1}, a: 1}', JSON.parse('{"__proto__": {"x": 1}, "a": 1}')],
  ])('lenient parsing reads JSON with %s', (_, text, value) => {
    expect(parseLeniently(text)).toEqual(value)
  })

  it.each([
    ['in a string', '{"a": ["x", "yz', { a: ['x', 'yz'] }, true],
    ['in an escape', '{"a": "x\\', { a: 'x' }, true],
    ['after a value', '{"a": {"b": [1', { a: { b: [1] } }, false],
    ['after a key', '{"a": 1, "b":', { a: 1 }, false],
    ['in a key', '{"a": 1, "b', { a: 1 }, false],
    ['in a fence', '```json\n{"a": [{"b": "c"}', { a: [{ b: 'c' }] }, false],
  ])('lenient parsing closes what was cut off %s', (_, text, value, cutOff) => {
    expect(readLeniently(text)).toEqual({ value, cutOff })
  })

  it('lenient parsing prefers what the caller accepts, then the largest, then the last', () => {
    const text = '{"a": "a long one that is not it"} {"b": 1} {"b": 2} {"c": "longer"}'
    expect(parseLeniently(text)).toEqual({ a: 'a long one that is not it' })
    const hasB = (value: unknown) => typeof value === 'object' && value !== null && 'b' in value
    expect(parseLeniently(text, hasB)).toEqual({ b: 2 })
    expect(parseLeniently('{"result": {"b": 3}}', hasB)).toEqual({ b: 3 })
    expect(parseLeniently('Sure: {"result": {"b": 3}}', hasB)).toEqual({ b: 3 })
  })

  it.each(['', 'no json here', '{', '{}}{', '{x}', '"unclosed', '{ and so on'])(
    'lenient parsing finds no object with keys in %j',
    text => {
      const value = parseLeniently(text)
      expect(value === undefined || Object.keys(value as object).length === 0).toBe(true)
    },
  )

  it('lenient parsing reads every JSON as JSON.parse does, also amid prose', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), value => {
        const json = JSON.stringify(value)
        const plain = JSON.parse(json)
        expect(parseLeniently(json)).toEqual(plain)
      }),
    )
    // Odd keys and quotes inside strings are where leniency has to guess, so words only.
    const words = fc.stringMatching(/^[\p{L} .:;-]{0,20}$/u)
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.array(words), { minKeys: 1 }), value => {
        expect(parseLeniently(`Well, ${JSON.stringify(value, null, 1)} it is.`)).toEqual(value)
      }),
    )
  })

  it('lenient parsing closes any JSON cut off anywhere without throwing', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), (value, cut) => {
        const json = JSON.stringify({ value })
        expect(() => readLeniently(json.slice(0, cut % json.length))).not.toThrow()
      }),
    )
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'{}[]"\',:\\ a1/*`\n.'), maxLength: 60 }),
        text => void parseLeniently(text),
      ),
    )
  })

  it.each([
    '{',
    '[',
    '{"',
    '{"a":',
    '[{',
    '{"a":"',
    '{"a":"b" ',
    '"',
    '\\',
    '{/*',
    '{//',
    "{'a':'b'c",
    '{"a":[',
    '}',
    ',',
    '{a',
    '{"a":1 x',
    '{"a":"b"x\n',
    '["a" ',
    '{ ',
    '{"k": "v" , ',
    '{"a":"\\',
  ])('lenient parsing comes to an end for a megabyte of %j', piece => {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length))
    // Anything quadratic would take hours, and the test's time-out ends it.
    expect(() => parseLeniently(text)).not.toThrow()
  })
})

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')
const replies = join(root, '..', 'shared', 'data', 'beads', 'model-replies-not-json.json')

it.skipIf(!existsSync(replies))(
  'lenient parsing reads an object with actions from at least 92 % of real replies (skipped without ../shared/data)',
  () => {
    const all = JSON.parse(readFileSync(replies, 'utf8')) as { raw: string }[]
    const hasActions = (value: unknown) =>
      typeof value === 'object' && value !== null && 'actions' in value && Array.isArray(value.actions)
    const read = all.filter(({ raw }) => hasActions(parseLeniently(raw, hasActions)))
    expect(read.length / all.length).toBeGreaterThanOrEqual(0.92)
  },
)
