import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseMarkdown } from './blocks.ts'
import { highlight } from './highlight.ts'
import { parseInline } from './inline.ts'
import { safeTarget } from './target.ts'
import type { Block, Inline } from './tree.ts'

const text = (value: string): Inline => ({ type: 'text', text: value })

describe('Markdown', () => {
  it('Markdown has headings, lists, quotes, code and tables', () => {
    const blocks = parseMarkdown(
      '# Plan\n\n1. form\n2. tests\n   - unit\n   - [x] browser\n\n> careful\n\n```ts\nconst a = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\nend',
    )
    expect(blocks.map(block => block.type)).toEqual(['heading', 'list', 'quote', 'code', 'table', 'rule', 'paragraph'])
    const list = blocks[1] as Extract<Block, { type: 'list' }>
    expect(list.items).toHaveLength(2)
    expect(list.items[1]!.children[1]).toMatchObject({ type: 'list', items: [{}, { checked: true }] })
    expect(blocks[3]).toEqual({ type: 'code', language: 'ts', text: 'const a = 1' })
  })

  it('Markdown has emphasis, code, links and bare addresses', () => {
    expect(parseInline('a **b *c*** `d*` [e](https://e.example) https://f.example/x.')).toEqual([
      text('a '),
      { type: 'strong', children: [text('b '), { type: 'emphasis', children: [text('c')] }] },
      text(' '),
      { type: 'code', text: 'd*' },
      text(' '),
      { type: 'link', target: 'https://e.example', children: [text('e')] },
      text(' '),
      { type: 'link', target: 'https://f.example/x', isBare: true, children: [text('https://f.example/x')] },
      text('.'),
    ])
    expect(parseInline('snake_case_name and 2 * 3 * 4')).toEqual([text('snake_case_name and 2 * 3 * 4')])
  })

  it('Markdown leaves HTML as the text it is', () => {
    const hostile = '<script>alert(1)</script><img src=x onerror=alert(1)>'
    expect(parseMarkdown(hostile)).toEqual([{ type: 'paragraph', children: [text(hostile)] }])
  })

  it('Markdown keeps an unclosed code block to its end', () => {
    expect(parseMarkdown('```\nlog line\n\n# not a heading')).toEqual([
      { type: 'code', language: '', text: 'log line\n\n# not a heading' },
    ])
  })

  it('Markdown shows the text of our own fences as it is', () => {
    const text = 'Look:\n\n<<012345678901 the difference\n+ one\n+ two\n\n# three\n012345678901>>\n\nDone.'
    expect(parseMarkdown(text)[1]).toEqual({
      type: 'code',
      language: 'the difference',
      text: '+ one\n+ two\n\n# three',
    })
    expect(parseMarkdown('<<012345678901 never closed\n+ one').map(({ type }) => type)).toEqual(['paragraph', 'list'])
  })

  it('Markdown loses no letter of any text', () => {
    const letters = (value: string) => value.replaceAll(/\P{L}/gu, '').toLowerCase()
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom(
          '**',
          '*',
          '_',
          '`',
          '```',
          '\n',
          '\n\n',
          '> ',
          '- ',
          '1. ',
          '# ',
          '[',
          '](',
          ')',
          '|',
          '~~',
          '  ',
        ),
        fc.string({ maxLength: 6 }),
        fc.constantFrom('word', 'Wort', 'слово'),
      ),
    )
    fc.assert(
      fc.property(pieces, given => {
        const source = given.join('')
        expect(letters(written(parseMarkdown(source)))).toBe(letters(source))
      }),
    )
  })

  it('Markdown takes time in proportion to the length of any text', () => {
    const many = 20_000
    for (const piece of [
      '[',
      '![',
      '**a',
      '*',
      '_a ',
      '`',
      '``a',
      '> ',
      '- ',
      '|',
      '~~a',
      '<',
      '[a](',
      '\\',
      '#',
      '- a\n',
      '>',
    ]) {
      expect(() => parseMarkdown(piece.repeat(many))).not.toThrow()
    }
    expect(() => parseMarkdown(Array.from({ length: 2000 }, (_, n) => `${' '.repeat(n)}- a`).join('\n'))).not.toThrow()
  })
})

describe('highlighting', () => {
  it('highlighting keeps exactly the text', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom('ts', 'py', 'sql', 'json', 'sh', 'text', 'diff', 'unheard-of', 'constructor'),
        (source, name) => {
          expect(
            highlight(source, name)
              .map(token => token.text)
              .join(''),
          ).toBe(source)
        },
      ),
    )
  })

  it('highlighting finds keywords, strings, numbers and comments', () => {
    const kinds = highlight('const a = "b" // 1\nreturn 42', 'ts').filter(token => token.kind !== 'plain')
    expect(kinds).toEqual([
      { kind: 'keyword', text: 'const' },
      { kind: 'string', text: '"b"' },
      { kind: 'comment', text: '// 1' },
      { kind: 'keyword', text: 'return' },
      { kind: 'number', text: '42' },
    ])
  })
})

describe('targets of links', () => {
  it('targets of links are pages and mails only', () => {
    expect(safeTarget('https://example.org/a?b=c')).toEqual({ href: 'https://example.org/a?b=c', place: 'example.org' })
    expect(safeTarget('mailto:a@example.org')?.place).toBe('a@example.org')
    for (const bad of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'java\nscript:alert(1)',
      '\u0001javascript:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'vbscript:x',
      'file:///etc/passwd',
      '//example.org',
      '/api/v1/me',
      'https://bank.example@evil.example/',
      '',
    ]) {
      expect(safeTarget(bad), bad).toBeUndefined()
    }
  })
})

function written(blocks: readonly Block[]): string {
  return blocks.map(blockText).join('')
}

function blockText(block: Block): string {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return words(block.children)
    case 'code':
      return block.language + block.text
    case 'quote':
      return written(block.children)
    case 'list':
      return block.items.map(({ checked, children }) => (checked ? 'x' : '') + written(children)).join('')
    case 'table':
      return [block.head, ...block.rows].flat().map(words).join('')
    case 'rule':
      return ''
  }
}

function words(inlines: readonly Inline[]): string {
  return inlines.map(inlineText).join('')
}

function inlineText(inline: Inline): string {
  switch (inline.type) {
    case 'text':
    case 'code':
      return inline.text
    case 'break':
      return ''
    case 'image':
      return inline.text + inline.target + (inline.title ?? '')
    case 'link':
      return words(inline.children) + (inline.isBare ? '' : inline.target) + (inline.title ?? '')
    default:
      return words(inline.children)
  }
}
