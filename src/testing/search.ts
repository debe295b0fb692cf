/** The contract of search: see `src/log/search.ts`. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Audience } from '../log/events/audience.ts'
import type { MessageAdded } from '../log/events/message.ts'
import type { WorkItem } from '../log/events/work-item.ts'
import type { SearchHit, SearchQuery, TitleHit, TitleQuery } from '../log/search.ts'
import type { StoreCalls } from '../log/store.ts'
import type { Viewer } from '../log/visibility.ts'
import { memoryArchives } from './archives.ts'
import { conversationCreated, everyone, messageAdded, origin, proposal, sessionCreated } from './builders.ts'
import type { OpenStore } from './store-under-test.ts'

const project = 'shop'

export function describeSearch(name: string, open: OpenStore): void {
  describe(`search on ${name}`, () => {
    describeWords(open)
    describeAnyInput(open)
    describeFilters(open)
    describeConversationFilters(open)
    describeRanking(open)
    describeHighlights(open)
    describeVisibleHits(open)
    describeFreshness(open)
    describeTitles(open)
    describeTitlePages(open)
  })
}

/** A store with one conversation in which the texts were said, and a search that gives the texts it found. */
async function storeWithMessages(open: OpenStore, ...texts: Array<string | MessageAdded>) {
  const opened = await open()
  const { store } = opened
  const messages = texts.map(text => (typeof text === 'string' ? messageAdded(text) : text))
  await store.append(proposal('c', [conversationCreated(), ...messages]))
  const textOf = new Map(messages.map(message => [message.messageId, message.parts.map(plain).join(' ')]))
  const foundTexts = async (text: string, more: Partial<SearchQuery> = {}) =>
    (await store.search({ project, text, ...more })).map(hit => textOf.get(hit.messageId))
  return { ...opened, store, foundTexts }
}

function plain(part: MessageAdded['parts'][number]): string {
  return 'text' in part ? (part.text ?? '') : JSON.stringify(part)
}

function describeWords(open: OpenStore): void {
  it('search finds a word by its stem, in both directions', async () => {
    const { foundTexts } = await storeWithMessages(open, 'We are planning it', 'The plan stands', 'Nothing here')
    expect((await foundTexts('planning')).sort()).toEqual(['The plan stands', 'We are planning it'])
    expect((await foundTexts('plans')).sort()).toEqual(['The plan stands', 'We are planning it'])
  })

  it('search ignores case and diacritics', async () => {
    const { foundTexts } = await storeWithMessages(open, 'Le café est fermé', 'Ñandú')
    for (const text of ['cafe', 'CAFÉ', 'café', 'cafe\u0301'])
      expect(await foundTexts(text)).toEqual(['Le café est fermé'])
    expect(await foundTexts('nandu')).toEqual(['Ñandú'])
  })

  it('search finds words inside texts of any script, and not what is not there', async () => {
    const scripts = [
      ['请检查登录页面的错误', '登录页面', '页登'],
      ['ログイン画面を直してください', '画面', '面画'],
      ['로그인 페이지를 고쳐 주세요', '로그인', '인그로'],
      ['หน้าเข้าสู่ระบบเสีย', 'ระบบ', 'บบระ'],
      ['Страница входа сломана', 'входа', 'адохв'],
      ['صفحة تسجيل الدخول', 'تسجيل', 'ليجست'],
      ['deploy 🚀 today', 'today', 'yadot'],
    ] as const
    const { foundTexts } = await storeWithMessages(open, ...scripts.map(([text]) => text))
    for (const [text, there, notThere] of scripts) {
      expect(await foundTexts(there)).toEqual([text])
      expect(await foundTexts(notThere)).toEqual([])
    }
  })

  it('search takes a letter as the same in one character or in pieces, as file names come from some systems', async () => {
    const texts = ['한국어', 'Συνέδριο', 'Новый', 'ガンタ', 'một việc', 'Ångström']
    for (const [stored, typed] of [
      ['NFC', 'NFD'],
      ['NFD', 'NFC'],
    ] as const) {
      const storedTexts = texts.map(text => `see ${text} there`.normalize(stored))
      const { store, foundTexts } = await storeWithMessages(open, ...storedTexts)
      for (const [index, text] of texts.entries()) {
        expect(await foundTexts(text.normalize(typed))).toEqual([storedTexts[index]])
        await store.append(proposal(text, conversationCreated({ title: `${text} today`.normalize(stored) })))
        const titles = await store.searchTitles({ project, text: `${text} today`.normalize(typed) })
        expect(titles[0]?.conversationId).toBe(text)
        expect(titles[0]?.score).toBeGreaterThan(0.8)
      }
      await store.append(proposal('short', conversationCreated({ title: '한국'.normalize(stored) })))
      const titles = await store.searchTitles({ project, text: '국'.normalize(typed) })
      expect(titles.map(title => title.conversationId)).toContain('short')
    }
  })

  it('search needs any of the words, and quoted ones together', async () => {
    const { foundTexts } = await storeWithMessages(open, 'red apple', 'green apple', 'apple that is red')
    expect((await foundTexts('red green')).sort()).toEqual(['apple that is red', 'green apple', 'red apple'])
    expect(await foundTexts('"red apple"')).toEqual(['red apple'])
    expect(await foundTexts('"apple red"')).toEqual([])
  })

  it('search covers tool calls, tool results and files, not reasoning', async () => {
    const parts = (part: MessageAdded['parts'][number]) => messageAdded('', { parts: [part] })
    const { store } = await storeWithMessages(
      open,
      parts({ type: 'tool-call', callId: 'k', name: 'bash', input: { command: 'frobnicate' } }),
      parts({ type: 'tool-result', callId: 'k', output: { text: 'frobnicated' } }),
      parts({ type: 'file', name: 'frobnicate.ts' }),
      parts({ type: 'reasoning', text: 'frobnicating' }),
    )
    const hits = await store.search({ project, text: 'frobnicate' })
    expect(hits.map(hit => hit.version).sort()).toEqual([2, 3, 4])
  })

  it('search finds words in a large content', async () => {
    const { store } = await open()
    await store.append(proposal('c', [conversationCreated(), messageAdded(`needle ${'hay '.repeat(100_000)}`)]))
    expect(await store.search({ project, text: 'needle' })).toHaveLength(1)
  })

  it('search finds words next to NUL bytes and lone surrogates', async () => {
    const { foundTexts } = await storeWithMessages(open, 'before\0after', 'low\ud800high')
    expect(await foundTexts('after')).toEqual(['before\0after'])
    expect(await foundTexts('before')).toEqual(['before\0after'])
    expect(await foundTexts('high')).toEqual(['low\ud800high'])
  })
}

function describeAnyInput(open: OpenStore): void {
  // biome-ignore format: a plain list
  const oddities = [
    '', ' ', '"', '""', '"""', "'", '(', ')', '*', '^', '-', 'NOT', 'AND OR', 'NEAR(a b)', 'text:apple', 'a AND (b',
    '"unclosed', 'apple*', '{a b}:c', 'a + b', '%_\\', "'; drop table words; --", '\0', '\ud800', '\u200b', '\u0002x\u0003',
  ]

  it('search takes quotes, operators and any other input without a syntax error', async () => {
    const { store, foundTexts } = await storeWithMessages(open, 'an apple a day')
    for (const text of oddities) {
      expect(await foundTexts(text)).toBeInstanceOf(Array)
      expect(await store.searchTitles({ project, text })).toBeInstanceOf(Array)
    }
  })

  it('search takes words that are operators elsewhere as words', async () => {
    const { foundTexts } = await storeWithMessages(open, 'this or that', 'neither')
    expect(await foundTexts('OR')).toEqual(['this or that'])
    expect(await foundTexts('that NOT')).toEqual(['this or that'])
  })

  const anyText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code)), maxLength: 60 }),
    fc.string({
      unit: fc.constantFrom('"', '*', '(', ')', ':', '-', 'a', ' ', '\0', '\ud800', '\udfff'),
      maxLength: 20,
    }),
  )

  it('search throws for no query text', async () => {
    const { store } = await storeWithMessages(open, 'an apple a day')
    await fc.assert(
      fc.asyncProperty(anyText, async text => {
        const [hits, titles] = await Promise.all([
          store.search({ project, text, author: text }),
          store.searchTitles({ project, text }),
        ])
        for (const hit of hits) expectSound(hit)
        for (const title of titles) expect(title.score).toBeLessThanOrEqual(1)
      }),
      { numRuns: 300 },
    )
  })

  it('search throws for no message text, and a whole word in it is found', async () => {
    const { store } = await open()
    await store.append(proposal('c', conversationCreated()))
    await fc.assert(
      fc.asyncProperty(anyText, anyText, fc.nat(1_000_000), async (before, after, number) => {
        const word = `word${number}x`
        const message = messageAdded(`${before} ${word} ${after}`)
        await store.append(proposal('c', message))
        const hits = await store.search({ project, text: word })
        expect(hits.map(hit => hit.messageId)).toContain(message.messageId)
        for (const hit of hits) expectSound(hit)
      }),
      { numRuns: 150 },
    )
  })

  it('search takes a pasted page as a query like any other', async () => {
    const { foundTexts } = await storeWithMessages(open, 'an apple a day')
    expect(await foundTexts(`apple ${'lorem ipsum '.repeat(5000)}`)).toEqual(['an apple a day'])
  })
}

/** The highlights are places in the snippet, in order and apart. */
function expectSound({ snippet, highlights, score }: SearchHit): void {
  let last = 0
  for (const [start, end] of highlights) {
    expect(start).toBeGreaterThanOrEqual(last)
    expect(end).toBeGreaterThan(start)
    expect(end).toBeLessThanOrEqual(snippet.length)
    last = end
  }
  expect(Number.isFinite(score)).toBe(true)
}

function describeFilters(open: OpenStore): void {
  it('search filters by conversation, author and role', async () => {
    const { store, foundTexts } = await storeWithMessages(
      open,
      messageAdded('apple one', { author: 'holder' }),
      messageAdded('apple two', { role: 'assistant', author: 'dev' }),
      messageAdded('apple three', { role: 'system' }),
    )
    await store.append(
      proposal('other', [conversationCreated(), messageAdded('apple elsewhere', { author: 'holder' })]),
    )
    expect(await foundTexts('apple', { conversationId: 'c', author: 'holder' })).toEqual(['apple one'])
    expect(await foundTexts('apple', { role: 'assistant' })).toEqual(['apple two'])
    expect(await foundTexts('apple', { role: 'system', author: 'holder' })).toEqual([])
    expect(await store.search({ project, text: 'apple', author: 'holder' })).toHaveLength(2)
    expect(await foundTexts('apple', { conversationId: 'none' })).toEqual([])
    expect(await foundTexts('apple', { author: 'nobody' })).toEqual([])
  })

  it('search filters by time, both ends included', async () => {
    const { store, clock } = await open()
    await store.append(proposal('c', conversationCreated()))
    const times: string[] = []
    for (const text of ['apple 0', 'apple 1', 'apple 2']) {
      clock.now += 1000
      times.push(new Date(clock.now).toISOString())
      await store.append(proposal('c', messageAdded(text)))
    }
    const versions = async (more: Partial<SearchQuery>) =>
      (await store.search({ project, text: 'apple', ...more })).map(hit => hit.version).sort()
    expect(await versions({ since: times[1]! })).toEqual([3, 4])
    expect(await versions({ until: times[1]! })).toEqual([2, 3])
    expect(await versions({ since: times[1]!, until: times[1]! })).toEqual([3])
    const [day, before] = [0, 86_400_000].map(ago => new Date(clock.now - ago).toISOString().slice(0, 10))
    expect(await versions({ since: day!, until: day! })).toEqual([2, 3, 4])
    expect(await versions({ until: before! })).toEqual([])
    expect(await store.searchTitles({ project, text: '', until: day! })).toHaveLength(1)
    expect(await store.searchTitles({ project, text: '', until: before! })).toEqual([])
  })

  it('search filters by whether the conversation is archived now', async () => {
    const { store } = await storeWithMessages(open, 'apple')
    await store.append(
      proposal('old', [conversationCreated(), messageAdded('apple'), { type: 'conversation.archived' }]),
    )
    const conversations = async (archived?: boolean) =>
      (await store.search({ project, text: 'apple', ...(archived !== undefined && { archived }) })).map(
        hit => `${hit.conversationId} ${hit.archived}`,
      )
    expect(await conversations(true)).toEqual(['old true'])
    expect(await conversations(false)).toEqual(['c false'])
    expect((await conversations()).sort()).toEqual(['c false', 'old true'])
    await store.append(proposal('old', { type: 'conversation.restored' }))
    expect(await conversations(true)).toEqual([])
  })

  it('search filters by the phase at the time', async () => {
    const { store } = await storeWithMessages(open, 'apple without a phase')
    await store.append(proposal('planned', [conversationCreated({ phase: 'plan' }), messageAdded('apple in the plan')]))
    const conversations = async (phase: string) =>
      (await store.search({ project, text: 'apple', phase })).map(hit => hit.conversationId)
    expect(await conversations('plan')).toEqual(['planned'])
    expect(await conversations('execute')).toEqual([])
    await store.append(
      proposal('planned', [{ type: 'phase.changed', from: 'plan', to: 'execute' }, messageAdded('apple built')]),
    )
    expect(await conversations('plan')).toEqual(['planned'])
    expect((await store.search({ project, text: 'apple', phase: 'execute' })).map(hit => hit.version)).toEqual([4])
  })

  it('search filters by the phase at the time, also when the conversation moved on before the first search', async () => {
    const { store } = await open()
    const moved = { type: 'phase.changed', from: 'plan', to: 'execute' } as const
    const begin = conversationCreated({ phase: 'plan' })
    await store.append(
      proposal('c', [
        begin,
        messageAdded('apple'),
        moved,
        messageAdded('apple'),
        sessionCreated('s'),
        messageAdded('apple'),
      ]),
    )
    const versions = async (phase: string) =>
      (await store.search({ project, text: 'apple', phase })).map(hit => hit.version).sort()
    expect(await versions('plan')).toEqual([2])
    expect(await versions('execute')).toEqual([4, 6])
  })

  it('search takes a branch as in the phase it inherits', async () => {
    const { store } = await open()
    await store.append(proposal('parent', [conversationCreated({ phase: 'plan' }), messageAdded('pear')]))
    const branchOf = { conversationId: 'parent', version: 2 }
    await store.append(
      proposal('branch', [conversationCreated({ branchOf, inherits: { phase: 'plan' } }), messageAdded('apple')]),
    )
    expect(await store.search({ project, text: 'apple', phase: 'plan' })).toHaveLength(1)
  })
}

function describeConversationFilters(open: OpenStore): void {
  it('search by participant finds messages of all authors in the conversation', async () => {
    const { store } = await open()
    await store.append(
      proposal('a', [
        conversationCreated(),
        messageAdded('apple'),
        messageAdded('seen', { role: 'assistant', author: 'qa' }),
      ]),
    )
    await store.append(proposal('b', [conversationCreated(), messageAdded('apple'), sessionCreated('qa')]))
    const conversations = async (participant: string) =>
      (await store.search({ project, text: 'apple', participant })).map(hit => hit.conversationId)
    expect(await conversations('qa')).toEqual(['a'])
    expect((await conversations('user')).sort()).toEqual(['a', 'b'])
    expect(await conversations('nobody')).toEqual([])
    expect(await conversations('q\0a')).toEqual([])
  })

  it('search by participant ignores an author whose only message was erased', async () => {
    const { store } = await open()
    const once = messageAdded('gone', { author: 'once', messageId: 'm1' })
    const twice = messageAdded('gone', { author: 'twice', messageId: 'm2' })
    await store.append(
      proposal('a', [
        conversationCreated(),
        messageAdded('apple'),
        once,
        twice,
        messageAdded('stays', { author: 'twice' }),
      ]),
    )
    const foundTexts = async (participant: string) =>
      (await store.search({ project, text: 'apple', participant })).length
    expect([await foundTexts('once'), await foundTexts('twice')]).toEqual([1, 1])
    for (const messageId of ['m1', 'm2']) await store.erase({ project, messageId, origin })
    expect([await foundTexts('once'), await foundTexts('twice')]).toEqual([0, 1])
    await store.append(proposal('a', messageAdded('back', { author: 'once' })))
    expect(await foundTexts('once')).toBe(1)
  })

  it('search filters by the agents that have a session on the conversation, or had one', async () => {
    const { store } = await open()
    const endedSession = sessionCreated('s2', { agentName: 'dev' })
    await store.append(
      proposal('a', [conversationCreated(), messageAdded('apple'), sessionCreated('s1', { agentName: 'qa' })]),
    )
    await store.append(
      proposal('b', [
        conversationCreated(),
        messageAdded('apple'),
        endedSession,
        { type: 'session.deleted', sessionId: 's2' },
      ]),
    )
    const conversations = async (agent: string) =>
      (await store.search({ project, text: 'apple', agent })).map(hit => hit.conversationId)
    expect(await conversations('qa')).toEqual(['a'])
    expect(await conversations('dev')).toEqual(['b'])
    expect(await conversations('user')).toEqual([])
  })

  it('search filters by the work item of the conversation', async () => {
    const { store } = await open()
    const workItem = { type: 'task', featureId: 'login', taskId: 'form' } as const
    await store.append(proposal('a', [conversationCreated({ workItem }), messageAdded('apple')]))
    await store.append(
      proposal('b', [
        conversationCreated({ workItem: { type: 'feature', featureId: 'login' } }),
        messageAdded('apple'),
      ]),
    )
    const conversations = async (workItem: WorkItem) =>
      (await store.search({ project, text: 'apple', workItem })).map(hit => hit.conversationId)
    expect(await conversations(workItem)).toEqual(['a'])
    expect(await conversations({ type: 'feature', featureId: 'login' })).toEqual(['b'])
    expect(await conversations({ type: 'bead', beadId: 'login' })).toEqual([])
  })

  it('search does not let a conversation inherit the phase of one that was purged', async () => {
    const { store } = await open()
    await store.append(proposal('planned', [conversationCreated({ phase: 'plan' }), messageAdded('apple')]))
    expect(await store.search({ project, text: 'apple', phase: 'plan' })).toHaveLength(1)
    await store.purge({ project, conversationId: 'planned', to: memoryArchives(), origin })
    await store.append(proposal('later', [conversationCreated(), messageAdded('apple')]))
    expect(await store.search({ project, text: 'apple', phase: 'plan' })).toEqual([])
  })

  it('[P12] search finds nothing of another project', async () => {
    const { store, foundTexts } = await storeWithMessages(open, 'apple')
    await store.append(
      proposal('c', [conversationCreated({ title: 'Apple pie' }), messageAdded('apple pie')], { project: 'bank' }),
    )
    expect(await foundTexts('apple')).toEqual(['apple'])
    expect(await foundTexts('apple', { conversationId: 'c' })).toEqual(['apple'])
    expect(await foundTexts('pie')).toEqual([])
    expect(await store.searchTitles({ project, text: 'Apple pie' })).toEqual([])
    expect(await store.search({ project: 'mill', text: 'apple' })).toEqual([])
  })

  it('search does not take the notes of the index for words of a message', async () => {
    const { foundTexts } = await storeWithMessages(open, 'apple')
    for (const text of ['p1', 'c1', 'p1 c1', 'place', 'text apple']) {
      expect(await foundTexts(text)).toEqual(text.includes('apple') ? ['apple'] : [])
    }
  })

  it('search gives a page at a time', async () => {
    const { store } = await storeWithMessages(open, ...Array.from({ length: 25 }, (_, index) => `apple number${index}`))
    const texts: string[] = []
    for (let offset = 0; offset < 25; offset += 10) {
      const page = await store.search({ project, text: 'apple', limit: 10, offset })
      texts.push(...page.map(hit => hit.messageId))
    }
    expect(new Set(texts).size).toBe(25)
    expect(await store.search({ project, text: 'apple' })).toHaveLength(20)
  })
}

function describeRanking(open: OpenStore): void {
  describe.each([
    ['everywhere', {}],
    ['in one conversation', { conversationId: 'c' }],
  ] as const)('%s', (_, where) => {
    const searchOf = async (...texts: Array<string | MessageAdded>) => {
      const { foundTexts } = await storeWithMessages(open, ...texts)
      return (text: string, more: Partial<SearchQuery> = {}) => foundTexts(text, { ...where, ...more })
    }

    it('search ignores words that most messages have, unless there are no others', async () => {
      const common = Array.from({ length: 1100 }, (_, index) => `the form number${index}`)
      const foundTexts = await searchOf('login without it', ...common, 'the form to login')
      expect(await foundTexts('the login form', { limit: 2 })).toEqual(['the form to login', 'login without it'])
      expect(await foundTexts('the form', { limit: 50 })).toHaveLength(50)
      expect(await foundTexts('the')).toHaveLength(20)
    })

    it('search by words that most messages have finds those messages where none has the other words', async () => {
      const common = Array.from({ length: 1100 }, (_, index) => `the form number${index}`)
      const foundTexts = await searchOf(messageAdded('a login of its own', { author: 'dev' }), ...common)
      expect(await foundTexts('the form zebra', { limit: 2000 })).toHaveLength(1100)
      expect(await foundTexts('form zebra', { limit: 300, offset: 900 })).toHaveLength(200)
      expect(await foundTexts('form login', { author: 'user' })).toHaveLength(20)
      expect(await foundTexts('form login', { limit: 2000 })).toContain('a login of its own')
      expect(await foundTexts('zebra')).toEqual([])
    })

    it('search gives messages with all the words first where hundreds have them, and the others on later pages, each once', async () => {
      const both = Array.from({ length: 320 }, (_, index) => `apple pear number${index}`)
      const oneWordTexts = Array.from({ length: 30 }, (_, index) => `apple plum number${index}`)
      const foundTexts = await searchOf(...oneWordTexts.slice(15), ...both, ...oneWordTexts.slice(0, 15))
      const pages: Array<string | undefined> = []
      for (let offset = 0; offset < 360; offset += 120)
        pages.push(...(await foundTexts('apple pear', { limit: 120, offset })))
      expect(new Set(pages.slice(0, 320))).toEqual(new Set(both))
      expect(new Set(pages.slice(320))).toEqual(new Set(oneWordTexts))
      expect(pages).toHaveLength(350)

      const ofOneWord: Array<string | undefined> = []
      for (let offset = 0; offset < 360; offset += 120)
        ofOneWord.push(...(await foundTexts('apple', { limit: 120, offset })))
      expect(new Set(ofOneWord).size).toBe(350)
    })

    it('search gives the message with more of the words first', async () => {
      const foundTexts = await searchOf('the login form', 'the login page and its form', 'a page', 'nothing')
      expect((await foundTexts('login page form'))[0]).toBe('the login page and its form')
    })

    it('search gives of two messages with one word each the one with the rarer word first', async () => {
      const often = Array.from({ length: 20 }, (_, index) => `the form number${index}`)
      const foundTexts = await searchOf('the invoice number20', 'nothing', 'nothing', ...often)
      expect((await foundTexts('form invoice'))[0]).toBe('the invoice number20')
    })

    it('search gives of two messages with the same words the shorter one first', async () => {
      const foundTexts = await searchOf('payment', `payment ${'and other things '.repeat(20)}`, 'nothing')
      expect((await foundTexts('payment'))[0]).toBe('payment')
    })
  })

  it('search in one conversation finds what a search everywhere finds there', async () => {
    const word = fc.constantFrom('apple', 'pear', 'plum', 'fig', 'date')
    const text = fc.array(word, { minLength: 1, maxLength: 6 }).map(words => words.join(' '))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ into: fc.constantFrom('c', 'd'), text, author: fc.constantFrom('pm', 'dev') }), {
          maxLength: 30,
        }),
        text,
        fc.constantFrom({}, { author: 'pm' }, { before: 8 }, { author: 'nobody' }),
        async (messages, query, filter) => {
          const { store } = await open()
          for (const id of ['c', 'd']) await store.append(proposal(id, conversationCreated()))
          for (const one of messages)
            await store.append(proposal(one.into, messageAdded(one.text, { author: one.author })))
          const everywhere = await store.search({ project, text: query, limit: 100, ...filter })
          const here = await store.search({ project, text: query, limit: 100, conversationId: 'c', ...filter })
          const versions = (hits: SearchHit[]) => hits.map(hit => hit.version).sort((a, b) => a - b)
          expect(versions(here)).toEqual(versions(everywhere.filter(hit => hit.conversationId === 'c')))
          expect(here).toEqual([...here].sort((a, b) => b.score - a.score))
          await store.close()
        },
      ),
      { numRuns: 10 },
    )
  })

  it('search ranks a message higher when its neighbours have the words it lacks', async () => {
    const { store } = await open()
    await store.append(
      proposal('alone', [
        conversationCreated(),
        messageAdded('we use redis'),
        messageAdded('noted'),
        messageAdded('fine'),
      ]),
    )
    await store.append(
      proposal('answered', [
        conversationCreated(),
        messageAdded('how do we cache things?'),
        messageAdded('we use redis'),
        messageAdded('fine'),
      ]),
    )
    const hits = await store.search({ project, text: 'cache redis' })
    const place = (id: string) => hits.findIndex(hit => hit.conversationId === id && hit.snippet.includes('redis'))
    expect(place('answered')).toBeGreaterThanOrEqual(0)
    expect(place('alone')).toBeGreaterThan(place('answered'))
  })
}

function describeHighlights(open: OpenStore): void {
  const marked = ({ snippet, highlights }: SearchHit) => highlights.map(([start, end]) => snippet.slice(start, end))

  it('search marks the matched words in the snippet', async () => {
    const cases: Array<[text: string, query: string, marks: string[]]> = [
      ['Yesterday we planned the login page', 'planning page', ['planned', 'page']],
      ['Le café est fermé', 'cafe', ['café']],
      ['请检查登录页面的错误', '登录页面', ['登录页面']],
      ['🚀🚀 launch 🚀', 'launch', ['launch']],
      ['the red apple and a red herring', '"red apple"', ['red apple']],
    ]
    const { store } = await storeWithMessages(open, ...cases.map(([text]) => text))
    for (const [text, query, marks] of cases) {
      const [hit] = await store.search({ project, text: query })
      expect(hit?.snippet).toBe(text)
      expect(joinedTogether(marked(hit!), marks)).toEqual(marks)
    }
  })

  it('search takes the snippet of a long text from around the match', async () => {
    const { store } = await storeWithMessages(open, `${'before '.repeat(500)} needle ${'after '.repeat(500)}`)
    const [hit] = await store.search({ project, text: 'needle' })
    expect(marked(hit!)).toEqual(['needle'])
    expect(hit!.snippet.length).toBeLessThan(1000)
  })

  it('search is not misled by a text that contains the marks themselves', async () => {
    const { store } = await storeWithMessages(open, 'a \u0002 b \u0003 needle \u0003\u0002 c')
    const [hit] = await store.search({ project, text: 'needle' })
    expectSound(hit!)
    expect(marked(hit!)).toEqual(['needle'])
  })

  it('search says of a hit where, by whom and when', async () => {
    const { store, clock } = await storeWithMessages(open, messageAdded('apple', { messageId: 'm', author: 'holder' }))
    const [hit] = await store.search({ project, text: 'apple' })
    expect(hit).toMatchObject({
      conversationId: 'c',
      title: 'Login page',
      messageId: 'm',
      version: 2,
      author: 'holder',
      role: 'user',
      at: new Date(clock.now).toISOString(),
      archived: false,
    })
  })
}

/** A phrase may be marked as a whole or word by word; both point at it. */
function joinedTogether(marks: string[], expected: string[]): string[] {
  return expected.length === 1 && marks.length > 1 ? [marks.join(' ')] : marks
}

function describeVisibleHits(open: OpenStore): void {
  const viewer: Viewer = { sees: 'as-session', sessionId: 's', agentName: 'dev' }

  it('search for a viewer finds what it sees, and nothing else', async () => {
    const to: Array<[string, Audience]> = [
      ['apple for all', everyone],
      ['apple for s', { to: 'session', sessionId: 's' }],
      ['apple for t', { to: 'session', sessionId: 't' }],
      ['apple for dev', { to: 'agents', agents: ['dev'] }],
      ['apple for the audit', { to: 'internal' }],
      ['apple in a delegation', { to: 'delegation', delegationId: 'd' }],
    ]
    const { foundTexts } = await storeWithMessages(
      open,
      ...to.map(([text, audience]) => messageAdded(text, { audience })),
    )
    expect((await foundTexts('apple', { viewer })).sort()).toEqual(['apple for all', 'apple for dev', 'apple for s'])
    expect(await foundTexts('apple')).toHaveLength(6)
    expect(await foundTexts('apple delegation', { viewer: { ...viewer, delegations: ['d'] } })).toContain(
      'apple in a delegation',
    )
  })

  it('search for a viewer is not crowded out by what it cannot see', async () => {
    const hidden = Array.from({ length: 400 }, () =>
      messageAdded('apple apple apple', { audience: { to: 'internal' } }),
    )
    const { foundTexts } = await storeWithMessages(
      open,
      ...hidden,
      'one apple among very many other words in a much longer text',
    )
    expect(await foundTexts('apple', { viewer })).toHaveLength(1)
  })

  it('search for a viewer does not rank by what it cannot see', async () => {
    const { store } = await open()
    const hidden = { audience: { to: 'internal' } } as const
    await store.append(
      proposal('a', [conversationCreated(), messageAdded('how do we cache?', hidden), messageAdded('we use redis')]),
    )
    await store.append(
      proposal('b', [conversationCreated(), messageAdded('how are you?', hidden), messageAdded('we use redis')]),
    )
    const hits = await store.search({ project, text: 'cache redis', viewer })
    expect(hits).toHaveLength(2)
    expect(hits[0]!.score).toBe(hits[1]!.score)
  })
}

function describeFreshness(open: OpenStore): void {
  it('search finds what was acknowledged a moment ago, here and through another handle', async () => {
    const { store, another } = await open()
    const other = await another()
    await store.append(proposal('c', conversationCreated()))
    for (let i = 0; i < 10; i++) {
      await store.append(proposal('c', messageAdded(`word${i}x`)))
      for (const handle of [store, other]) {
        expect(await handle.search({ project, text: `word${i}x` })).toHaveLength(1)
      }
    }
  })

  it('search runs on both handles while both write', async () => {
    const { store, another } = await open()
    const handles = [store, await another()]
    await store.append(proposal('c', conversationCreated()))
    await Promise.all(
      handles.map(async (handle, index) => {
        for (let i = 0; i < 15; i++) {
          await handle.append(proposal('c', messageAdded(`word${index}and${i}x`)))
          expect(await handle.search({ project, text: `word${index}and${i}x` })).toHaveLength(1)
        }
      }),
    )
    expect(await store.search({ project, text: '"word0and3x" "word1and14x"' })).toHaveLength(2)
  })

  it('search finds the same after the store was opened again', async () => {
    const { store, reopen } = await open()
    await store.append(proposal('c', [conversationCreated(), messageAdded('apple')]))
    expect(await store.search({ project, text: 'apple' })).toHaveLength(1)
    const reopened = await reopen()
    expect(await reopened.search({ project, text: 'apple' })).toHaveLength(1)
  })
}

async function storeWithTitles(open: OpenStore, ...titles: string[]) {
  const { store } = await open()
  for (const [index, title] of titles.entries())
    await store.append(proposal(`c${index}`, conversationCreated({ title })))
  const foundTexts = async (text: string) => (await store.searchTitles({ project, text })).map(hit => hit.title)
  return { store, foundTexts }
}

function describeTitles(open: OpenStore): void {
  it('search finds titles by similar words, mistakes included', async () => {
    const likenesses = [
      ['Login page', 'Login page'],
      ['Login page', 'login'],
      ['Login page', 'logn pge'],
      ['Login page', 'LOGIN PAGE!'],
      ['Payment gateway', 'paymnet gateway'],
      ['登录页面', '登录页面'],
      ['登录页面', '页面'],
      ['Überweisung', 'überweisung'],
    ] as const
    const { foundTexts } = await storeWithTitles(open, 'Shopping cart', ...new Set(likenesses.map(([title]) => title)))
    for (const [title, text] of likenesses) expect((await foundTexts(text))[0], text).toBe(title)
  })

  it('search ranks equal titles as equal in scripts without spaces, too', async () => {
    const { store } = await storeWithTitles(open, 'Login page', 'Carts', '登录页面', 'API設計', 'APIの設計')
    for (const text of ['Login page', 'Carts', '登录页面', 'API設計', 'APIの設計']) {
      const [hit] = await store.searchTitles({ project, text })
      expect(hit).toMatchObject({ title: text, score: 1 })
    }
  })

  it('search finds titles also when they are very short', async () => {
    const { foundTexts } = await storeWithTitles(open, 'Shopping cart', 'QA')
    expect(await foundTexts('QA')).toEqual(['QA'])
  })

  it('search gives the most similar title first, and no dissimilar one', async () => {
    const { foundTexts } = await storeWithTitles(open, 'Login page for partners', 'Login page', 'Search box')
    expect(await foundTexts('Login page')).toEqual(['Login page', 'Login page for partners'])
  })

  it('search finds a conversation by its new title', async () => {
    const { store, foundTexts } = await storeWithTitles(open, 'Login page')
    await store.append(proposal('c0', { type: 'conversation.annotated', title: 'Checkout flow' }))
    expect(await foundTexts('checkout flow')).toEqual(['Checkout flow'])
    expect(await foundTexts('login page')).toEqual([])
  })

  it('search finds titles of archived conversations on demand', async () => {
    const { store } = await storeWithTitles(open, 'Login page one', 'Login page two')
    await store.append(proposal('c0', { type: 'conversation.archived' }))
    const foundTexts = async (archived: boolean) =>
      (await store.searchTitles({ project, text: 'login page', archived })).map(hit => hit.conversationId)
    expect(await foundTexts(true)).toEqual(['c0'])
    expect(await foundTexts(false)).toEqual(['c1'])
  })
}

function describeTitlePages(open: OpenStore): void {
  it('search finds the title of the chosen conversation, as long as it is similar', async () => {
    const { store } = await storeWithTitles(open, 'Login page one', 'Login page two')
    const foundTexts = async (text: string, conversationId: string) =>
      (await store.searchTitles({ project, text, conversationId })).map(hit => hit.conversationId)
    expect(await foundTexts('login page', 'c1')).toEqual(['c1'])
    expect(await foundTexts('', 'c1')).toEqual(['c1'])
    expect(await foundTexts('invoice', 'c1')).toEqual([])
    expect(await foundTexts('login page', 'none')).toEqual([])
    expect(await foundTexts('login page', 'a\0b')).toEqual([])
  })

  it('search gives titles a page at a time, nothing twice and nothing left out', async () => {
    const { store } = await storeWithTitles(
      open,
      ...Array.from({ length: 45 }, (_, index) => `Login page ${index}`),
      'Something else',
    )
    const pages: TitleHit[][] = []
    for (let offset = 0; offset < 60; offset += 20) {
      pages.push(await store.searchTitles({ project, text: 'Login page', limit: 20, offset }))
    }
    expect(pages.map(page => page.length)).toEqual([20, 20, 5])
    expect(new Set(pages.flat().map(hit => hit.conversationId)).size).toBe(45)
  })

  it('search finds conversations by phase, participant, agent, work item and time, with a text or without', async () => {
    const { store, clock } = await open()
    const day = 24 * 60 * 60 * 1000
    const at = (ms: number) => new Date(ms).toISOString()
    const workItem = { type: 'feature', featureId: 'login' } as const
    const start = clock.now
    await store.append(
      proposal('a', [conversationCreated({ title: 'Login page', workItem }), messageAdded('one', { author: 'owner' })]),
    )
    clock.now += day
    await store.append(
      proposal('b', [
        conversationCreated({ title: 'Login form', phase: 'plan' }),
        sessionCreated('s', { agentName: 'qa' }),
      ]),
    )
    clock.now += day
    await store.append(proposal('b', { type: 'phase.changed', from: 'plan', to: 'execute' }))
    const foundTexts = async (more: Partial<TitleQuery>) =>
      (await store.searchTitles({ project, text: 'login', ...more })).map(hit => hit.conversationId).sort()
    const cases: Array<[Partial<TitleQuery>, string[]]> = [
      [{ participant: 'owner' }, ['a']],
      [{ agent: 'qa' }, ['b']],
      [{ workItem }, ['a']],
      [{ phase: 'execute' }, ['b']],
      [{ phase: 'plan' }, []],
      [{ since: at(start + day / 2) }, ['b']],
      [{ until: at(start + day / 2) }, ['a']],
      [{ since: at(start + 1.5 * day), until: at(start + 1.5 * day) }, ['b']],
      [{ archived: false, agent: 'qa', phase: 'execute' }, ['b']],
    ]
    for (const [more, expected] of cases) {
      expect(await foundTexts(more), JSON.stringify(more)).toEqual(expected)
      expect(await foundTexts({ ...more, text: '' }), JSON.stringify(more)).toEqual(expected)
    }
    expect(await foundTexts({ text: '', archived: false })).toEqual(['a', 'b'])
    expect(await foundTexts({ text: ' ' })).toEqual([])
  })

  it('search of conversations by time goes by the last use to the millisecond: marking an expiry is none', async () => {
    const { store, clock } = await open()
    const hour = 3_600_000
    clock.now += 12_345
    await store.append(
      proposal('left', [conversationCreated({ title: 'Login page' }), sessionCreated('s', { expiresInMs: hour })]),
    )
    const lastUse = clock.now
    clock.now += 2 * hour
    const lastActiveAt = new Date(lastUse).toISOString()
    await store.append(proposal('left', { type: 'session.expired', sessionId: 's', lastActiveAt }))
    const foundTexts = async (since: number) =>
      (await store.searchTitles({ project, text: 'login', since: new Date(since).toISOString() })).length
    expect([await foundTexts(lastUse - 1), await foundTexts(lastUse), await foundTexts(lastUse + 1)]).toEqual([1, 1, 0])
  })

  it('[P4] search finds no purged conversation by its title', async () => {
    const { store, foundTexts } = await storeWithTitles(open, 'Login page')
    await purge(store, 'c0')
    expect(await foundTexts('Login page')).toEqual([])
    expect(await store.searchTitles({ project, text: '', archived: false })).toEqual([])
  })
}

function purge(store: StoreCalls, conversationId: string) {
  return store.purge({ project, conversationId, to: memoryArchives(), origin })
}
