/** The contract of edited archives: refused with nothing changed, or restored as they were. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IllegalState } from '../errors.ts'
import type { StoreCalls } from '../log/store.ts'
import { memoryArchives } from './archives.ts'
import {
  asyncItems,
  conversationCreated,
  errorOf,
  linesOf,
  messageAdded,
  origin,
  proposal,
  sessionCreated,
} from './builders.ts'
import type { OpenStore } from './store-under-test.ts'

const project = 'shop'
const large = { type: 'text' as const, text: 'large '.repeat(60_000) }

type Edit = (lines: readonly string[], others: readonly string[]) => string[]

export function describeEditedArchives(name: string, open: OpenStore): void {
  describe(`an edited archive on ${name}`, () => {
    const edits: Record<string, Edit> = {
      'lacks its last events': lines => [...lines.slice(0, -6), lines.at(-1)!],
      'lacks its last event': lines => lines.toSpliced(-2, 1),
      'lacks all events': lines => [lines[0]!, lines.at(-1)!],
      'lacks all events and says so': lines => [
        changedLine(lines[0]!, { events: 0 }),
        changedLine(lines.at(-1)!, { events: 0, hash: '' }),
      ],
      'lacks events in the middle': lines => lines.toSpliced(3, 2),
      'has an event twice': lines => lines.toSpliced(3, 0, lines[2]!),
      'has its last event twice': lines => lines.toSpliced(-1, 0, lines.at(-2)!),
      'has the closing line of another archive': (lines, others) => [...lines.slice(0, -1), others.at(-1)!],
      'has a closing line of another hash': lines => [
        ...lines.slice(0, -1),
        changedLine(lines.at(-1)!, { hash: Buffer.alloc(32).toString('base64') }),
      ],
      'has the heading of another archive': (lines, others) => [others[0]!, ...lines.slice(1)],
      'has another archive behind it': (lines, others) => [...lines, ...others],
      'has another archive before it': (lines, others) => [...others.slice(0, -1), ...lines],
      'has lines behind its closing line': lines => [...lines, lines[2]!],
      'has two closing lines': lines => [...lines, lines.at(-1)!],
      'tells of fewer events than it has': lines => [
        changedLine(lines[0]!, { events: 3 }),
        ...lines.slice(1, -1),
        changedLine(lines.at(-1)!, { events: 3 }),
      ],
      'has a message for somebody else': lines =>
        lines.map(line => line.replace('"audience":{"to":"everyone"}', '"audience":{"to":"internal"}')),
      'has a content without its text': lines =>
        lines.map(line => (line.includes('"a word') ? changedLine(line, { body: null }) : line)),
    }

    it.each(Object.keys(edits))('[P4][P13] an archive that %s is refused, and nothing changes', async what => {
      const { store, lines, others } = await purgedStore(open)
      const edited = edits[what]!(lines, others)
      expect(edited).not.toEqual(lines)
      await expectRefused(store, edited)
      await store.restore({ project, lines: asyncItems(lines), origin })
      expect(await linesOf(store.export({ project, conversationId: 'c' }))).toEqual(lines)
    })

    it('[P4][P13] an archive of a branch that lacks its last events is refused; the whole one is restored', async () => {
      const { store } = await open()
      await store.append(proposal('c', [conversationCreated(), messageAdded('one'), messageAdded('two')]))
      const branch = conversationCreated({ branchOf: { conversationId: 'c', version: 2 } })
      await store.append(proposal('branch', [branch, messageAdded('three'), messageAdded('four')]))
      const to = memoryArchives()
      const { archive } = await store.purge({ project, conversationId: 'branch', to, origin })
      const lines = to.files.get(archive)!
      for (const left of [0, 1, 2]) {
        const edited = [...lines.slice(0, 1 + left), lines.at(-1)!]
        expect(await errorOf(() => store.restore({ project, lines: asyncItems(edited), origin }))).toBeInstanceOf(
          IllegalState,
        )
        expect(await store.purges(project)).toHaveLength(1)
      }
      expect(await store.restore({ project, lines: asyncItems(lines), origin })).toMatchObject({ version: 5 })
      expect((await store.verify()).damages).toEqual([])
    })

    it('[P4][P13] an archive edited in any way is refused with nothing changed, or restored byte for byte', async () => {
      const { store, lines, others } = await purgedStore(open)
      await fc.assert(
        fc.asyncProperty(edit, async how => {
          const edited = editedLines(how, lines, others)
          const error = await errorOf(() => store.restore({ project, lines: asyncItems(edited), origin }))
          if (error !== undefined) {
            expect(error).toBeInstanceOf(IllegalState)
            await expectPurged(store)
            return
          }
          expect(await linesOf(store.export({ project, conversationId: 'c' }))).toEqual(lines)
          await store.purge({ project, conversationId: 'c', to: memoryArchives(), origin })
        }),
        { numRuns: 150 },
      )
      expect((await store.verify()).damages).toEqual([])
    })
  })
}

/** A conversation that was purged, and another: their archives. */
async function purgedStore(open: OpenStore): Promise<{ store: StoreCalls; lines: string[]; others: string[] }> {
  const { store } = await open()
  const to = memoryArchives()
  const words = ['a word', 'and another', 'and a third']
  for (const conversation of ['c', 'other']) {
    const events = [
      conversationCreated(),
      sessionCreated(`${conversation} s`),
      ...words.map(text => messageAdded(text)),
    ]
    await store.append(
      proposal(conversation, [
        ...events,
        messageAdded('', { parts: [large] }),
        ...words.map(text => messageAdded(text)),
      ]),
    )
  }
  const [lines, others] = await Promise.all([
    store.purge({ project, conversationId: 'c', to, origin }),
    linesOf(store.export({ project, conversationId: 'other' })),
  ]).then(([{ archive }, exported]) => [to.files.get(archive)!, exported] as const)
  return { store, lines, others }
}

async function expectRefused(store: StoreCalls, edited: readonly string[]): Promise<void> {
  const error = await errorOf(() => store.restore({ project, lines: asyncItems(edited), origin }))
  expect(error).toBeInstanceOf(IllegalState)
  expect(String(error)).toMatch(/Nothing was restored|It was not brought back/)
  await expectPurged(store)
  expect((await store.verify()).damages).toEqual([])
}

async function expectPurged(store: StoreCalls): Promise<void> {
  expect(await store.conversation(project, 'c')).toBeUndefined()
  expect((await store.purges(project)).map(one => one.conversationId)).toEqual(['c'])
}

function changedLine(line: string, fields: object): string {
  return JSON.stringify({ ...JSON.parse(line), ...fields })
}

const edit = fc.record({
  what: fc.constantFrom('take out', 'take out', 'double', 'move', 'swap in', 'write over'),
  /** Which lines, and where in one, in thousandths of the whole. */
  from: fc.integer({ min: 0, max: 999 }),
  to: fc.integer({ min: 0, max: 999 }),
  count: fc.integer({ min: 1, max: 6 }),
  character: fc.constantFrom('0', '7', 'x', 'A', '"', '}', ' ', '='),
})

function editedLines(
  { what, from, to, count, character }: typeof edit extends fc.Arbitrary<infer E> ? E : never,
  lines: readonly string[],
  others: readonly string[],
): string[] {
  const [at, into] = [Math.floor((from * lines.length) / 1000), Math.floor((to * lines.length) / 1000)]
  switch (what) {
    case 'take out':
      return lines.toSpliced(at, count)
    case 'double':
      return lines.toSpliced(into, 0, ...lines.slice(at, at + count))
    case 'move': {
      const taken = lines.slice(at, at + count)
      return lines.toSpliced(at, count).toSpliced(into, 0, ...taken)
    }
    case 'swap in':
      return lines.toSpliced(at, count, ...others.slice(at, at + count))
    default: {
      const line = lines[at]!
      const place = Math.floor((to * line.length) / 1000)
      return lines.with(at, line.slice(0, place) + character + line.slice(place + 1))
    }
  }
}
