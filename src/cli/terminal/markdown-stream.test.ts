/** Markdown on a terminal, however it is cut into pieces. */
import fc from 'fast-check'
import pc from 'picocolors'
import { describe, expect, it } from 'vitest'
import { markdownStream } from './markdown-stream.ts'
import { safePieces } from './safe-text.ts'

const style = pc.createColors(true)

/** Colours as tags, to be read. */
const names: Readonly<Record<string, string>> = {
  1: '<b>',
  2: '<dim>',
  3: '<i>',
  4: '<u>',
  22: '</>',
  23: '</i>',
  24: '</u>',
  33: '<yellow>',
  35: '<magenta>',
  36: '<cyan>',
  39: '</c>',
}
const tagged = (text: string) => text.replace(/\u001b\[(\d+)m/g, (_, code: string) => names[code] ?? `<${code}>`)
const plain = (text: string) => text.replace(/\u001b\[\d+m/g, '')

function renderedText(pieces: readonly string[], columns = 80): string {
  const stream = markdownStream(style, () => columns)
  return pieces.map(piece => stream.write(piece)).join('') + stream.end()
}

describe('looks like what it is', () => {
  it.each([
    ['plain words', 'plain words'],
    ['# Plan\nText', '<b><magenta>Plan</c></>\nText'],
    ['- one\n  * two\n3. three', '<cyan>•</c> one\n  <cyan>•</c> two\n<cyan>3.</c> three'],
    ['> said', '<dim>│</> <dim>said</>'],
    ['a **bold** word, *thin* and `code`', 'a <b>bold</> word, <i>thin</i> and <yellow>code</c>'],
    ['***both***', '<i><b>both</></i>'],
    ['[docs](https://a.b) and [https://a.b](https://a.b)', '<u>docs</u> <dim>(https://a.b)</> and <u>https://a.b</u>'],
    ['Run:\n```sh\nnpm test # *all*\n```\nDone', 'Run:\n  <dim>sh</>\n  <cyan>npm test # *all*</c>\nDone'],
    ['before\n---\nafter', `before\n<dim>${'─'.repeat(40)}</>\nafter`],
  ])('the Markdown %j looks like what it is', (source, shown) => {
    expect(tagged(renderedText([source]))).toBe(shown)
  })

  it.each([
    'snake_case_name and 2 * 3 * 4',
    '**never closed',
    'a ` tick alone',
    '[not a link] and [half](',
    '#hashtag, -5, 1984 was a year',
    'C:\\path and __init__.py',
  ])('%j is no Markdown mark', source => {
    expect(renderedText([source])).toBe(source)
  })

  it('Markdown keeps what a backslash protects', () => {
    expect(renderedText(['\\*no\\* \\`tick\\`'])).toBe('*no* `tick`')
  })

  it('Markdown puts a table into columns, wide characters included', () => {
    const source = 'See:\n| name | does |\n|---|:-:|\n| `a|b` | 登录 |\n| long name | x \\| y |\n\nend'
    expect(plain(renderedText([source])).split('\n')).toEqual([
      'See:',
      'name       does',
      '─────────  ─────',
      'a|b        登录',
      'long name  x | y',
      '',
      'end',
    ])
  })

  it('Markdown shows a table row by row where it does not fit', () => {
    const source = '| name | does |\n|---|---|\n| form | shows the fields |\n| tests | prove it |'
    expect(plain(renderedText([source], 16))).toBe(
      '\n• name: form\n  does: shows the fields\n• name: tests\n  does: prove it\n',
    )
  })
})

describe('while it comes', () => {
  it('streamed Markdown shows a word as soon as it is one, and holds back only what may become a mark', () => {
    const stream = markdownStream(style, () => 80)
    expect(stream.write('Hello wor')).toBe('Hello wor')
    expect(stream.write('ld, **bo')).toBe('ld, ')
    expect(tagged(stream.write('ld** it'))).toBe('<b>bold</> it')
    expect(stream.write(' is\n- ')).toBe(' is\n')
    expect(tagged(stream.write('an item'))).toBe('<cyan>•</c> an item')
    expect(stream.end()).toBe('')
  })

  const piece = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('word', ' ', '\n', 'a_b', '登', '🜁') },
    fc.constantFrom(
      '*',
      '**',
      '_',
      '`',
      '```',
      '~~~',
      '[',
      '](',
      ')',
      '#',
      '# ',
      '- ',
      '1. ',
      '> ',
      '|',
      '|-|',
      '\\',
      '---',
    ),
  )

  it('streamed Markdown looks the same however it is cut', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.array(fc.nat(60), { maxLength: 20 }), (source, cuts) => {
        const text = source.join('')
        const places = [...new Set(cuts.filter(cut => cut < text.length))].sort((a, b) => a - b)
        const pieces = [...places, text.length].map((end, index) => text.slice(places[index - 1] ?? 0, end))
        expect(plain(renderedText(pieces))).toBe(plain(renderedText([text])))
      }),
      { numRuns: 2000 },
    )
  })

  it('streamed Markdown loses no word', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), source => {
        const words = (text: string) => plain(text).match(/word/g)?.length ?? 0
        expect(words(renderedText(source))).toBe(source.filter(one => one === 'word').length)
      }),
    )
  })

  it('streamed Markdown joins characters and line breaks that were cut in two', () => {
    const safe = safePieces()
    expect(['a\r', '\nb \ud83d', '\udc4d'].map(safe).join('')).toBe('a\nb 👍')
  })
})
