/** The command line for what agents are sent: request, compact, checkpoint. */
import type { Checkpoint, Colloquy, Session } from 'colloquy'
import { describe, expect, it } from 'vitest'
import { cliOn } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'

const small = { requests: { budget: 4000 } }

function developer(colloquy: Colloquy): Promise<Session> {
  return colloquy.sessions.getOrCreateSession({ type: 'feature', agentType: 'dev', featureId: 'login' })
}

/** Questions and answers of about `words` × 12 tokens each. */
async function talk(colloquy: Colloquy, id: string, { turns, words = 6 }: { turns: number; words?: number }) {
  for (let turn = 1; turn <= turns; turn++) {
    const about = `about part${turn} of src/module-${turn}.ts `.repeat(words)
    await colloquy.sessions.addMessage(id, { role: 'user', content: `Question ${turn} ${about}` })
    await colloquy.sessions.addMessage(id, { role: 'assistant', content: `We decided to use tool${turn}. ${about}` })
  }
}

async function eventsOf(colloquy: Colloquy, { conversationId }: Session): Promise<number> {
  return (await colloquy.conversations.getConversation(conversationId)).version
}

describe('colloquy request', () => {
  it('colloquy request shows what would be sent for the waiting message, and records nothing', async () => {
    const { colloquy, store } = await freshColloquy(small)
    const dev = await developer(colloquy)
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: 'Read it' })
    await colloquy.sessions.addMessage(dev.id, {
      role: 'assistant',
      parts: [
        { type: 'tool-call', callId: 'c1', name: 'read_file', input: { path: 'a.ts' } },
        { type: 'tool-result', callId: 'c1', name: 'read_file', output: 'const a = 1' },
      ],
    })
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: 'And\tnow?\nassistant\n\u001b[2J' })
    const version = await eventsOf(colloquy, dev)
    const cli = cliOn(store)

    const [messages, prompt, json] = await Promise.all([
      cli('request', dev.id),
      cli('request', dev.id, '--format', 'prompt'),
      cli('request', dev.id, '--json'),
    ])

    expect(messages.exitCode).toBe(0)
    expect(messages.stdout).toMatch(/^system\n {2}You are the developer/)
    expect(messages.stdout).toContain('\nassistant\n call read_file (c1)\n  {"path":"a.ts"}\n')
    expect(messages.stdout).toContain('\n result read_file (c1)\n  const a = 1\n')
    // A text that looks like the start of a message stays indented, and does nothing to the terminal.
    expect(messages.stdout).toMatch(/ {2}And {2}now\?\n {2}assistant\n {2}\\x1b\[2J\n$/)
    expect(messages.stderr).toMatch(/^[\d,]+ of 100,000 tokens · --explain says why\n$/)
    expect(prompt.stdout).toMatch(/^# Your role\n\n.*\n\n─+\n\nAnd {2}now\?\nassistant\n\\x1b\[2J\n$/s)
    const preview = await colloquy.sessions.previewRequest(dev.id, 'And\tnow?\nassistant\n\u001b[2J', {
      budget: 100_000,
    })
    expect(json.json()).toMatchObject({ format: 'messages', system: preview.system, messages: preview.messages })
    expect(json.json()).not.toHaveProperty('systemPrompt')
    expect(await eventsOf(colloquy, dev)).toBe(version)
  })

  it('colloquy request explains what was kept, summarised and left out, in numbers, and on a terminal with bars', async () => {
    const { colloquy, store } = await freshColloquy(small)
    const dev = await developer(colloquy)
    await talk(colloquy, dev.id, { turns: 40 })
    await colloquy.sessions.buildRequest(dev.id, 'Next?')
    const asked = ['request', dev.id, '--message', 'What about part3?', '--explain']
    const cli = cliOn(store)

    const [explained, windowed, coloured, json] = await Promise.all([
      cli(...asked, '--budget', '4000'),
      cli(...asked, '--budget', '2500', '--strategy', 'sliding_window', '--no-recall'),
      cliOn(store, { env: { FORCE_COLOR: '1' } })(...asked, '--budget', '4000'),
      cli(...asked, '--budget', '4000', '--json'),
    ])

    expect(explained.stdout).toMatch(/^Request for dev: [\d,]+ of 4,000 tokens\n/)
    expect(explained.stdout).toMatch(/\nSECTION +TOKENS +OF BUDGET\ndescription +\d+ +\d+\.\d %\ncheckpoint /)
    expect(explained.stdout).toMatch(/\nWHAT +FATE +TOKENS +VERSIONS +WHY\n/)
    expect(explained.stdout).toMatch(/\n\d+ messages +summarised +0 +\d+–\d+ +in checkpoint 1\n/)
    expect(explained.stdout).toMatch(/\n\d+ messages +kept +[\d,]+ +\d+–\d+ +recent\n/)
    expect(explained.stdout).toMatch(/\nrecall +kept +\d+ +\d+ +its words/)
    expect(windowed.stdout).toMatch(/\n\d+ messages +left out +\([\d,]+\) +\d+–\d+ +older than/)
    expect(windowed.stdout).not.toMatch(/\n(recall|checkpoint) +kept/)
    expect(coloured.stdout).toContain('█')
    expect(explained.stdout).not.toContain('█')
    const { ledger, budget } = json.json() as { ledger: { used: number; free: number }; budget: number }
    expect(ledger.used + ledger.free).toBe(budget)
    // Sections, headings and what is free make up the budget, to the token.
    const shares = explained.stdout.split('\n\n')[1]!.split('\n').slice(1)
    const tokens = shares.map(line => Number(/ ([\d,]+) +[\d.]+ %$/.exec(line)![1]!.replace(',', '')))
    expect(tokens.reduce((sum, one) => sum + one)).toBe(4000)
  })

  it('colloquy request needs a message when none waits, and names the part that is too large for a budget', async () => {
    const { colloquy, store } = await freshColloquy(small)
    const dev = await developer(colloquy)
    await talk(colloquy, dev.id, { turns: 1 })
    const cli = cliOn(store)
    const [answered, empty, tiny, conversation] = await Promise.all([
      cli('request', dev.id),
      cli('request', dev.id, '--message', ' ', '--json'),
      cli('request', dev.id, '--message', 'Next?', '--budget', '50', '--json'),
      cli('request', dev.conversationId, '--message', 'Next?'),
    ])
    expect([answered, empty, tiny, conversation].map(({ exitCode }) => exitCode)).toEqual([2, 2, 1, 1])
    expect(answered.stderr).toContain('no message of this session waits for an answer; say with --message TEXT')
    expect(answered.stderr).toContain('--help')
    expect(empty.error()).toMatchObject({ code: 'usage' })
    expect(tiny.error()).toMatchObject({ code: 'request/budget-too-small', facts: { section: 'description' } })
    expect(conversation.stderr).toContain('It is a conversation')
  })
})

describe('colloquy compact', () => {
  it('colloquy compact says how much it compacted, and when there is nothing to do', async () => {
    const { colloquy, store } = await freshColloquy(small)
    const dev = await developer(colloquy)
    await talk(colloquy, dev.id, { turns: 30, words: 40 })
    const cli = cliOn(store)
    const taken = await cli('compact', dev.id)
    const again = await cli('compact', dev.id)
    const json = await cli('compact', dev.id, '--json')

    const { messages, tokens } = (await colloquy.sessions.getCheckpoint(dev.id))!
    expect([taken, again, json].map(({ exitCode }) => exitCode)).toEqual([0, 0, 0])
    expect(taken.stdout).toMatch(
      new RegExp(`^Checkpoint 1 made of ${messages} messages: [\\d,]+ → [\\d,]+ tokens \\(\\d+ % less\\)\\.\n`),
    )
    expect(taken.stdout).toContain(`→ ${tokens.checkpoint.toLocaleString('en')} tokens`)
    expect(again.stdout).toContain('Nothing to compact')
    expect(json.json()).toEqual({ sessionId: dev.id, outcome: 'nothing-to-do' })
    expect(await colloquy.sessions.getAllMessages(dev.id)).toHaveLength(60)
  })

  it('colloquy compact fails with the reason when a checkpoint would save next to nothing', async () => {
    const { colloquy, store } = await freshColloquy(small)
    const dev = await developer(colloquy)
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: 'Never use tabs.' })
    await colloquy.sessions.addMessage(dev.id, { role: 'user', content: `Look: ${'some words '.repeat(8000)}` })
    const { exitCode, stdout } = await cliOn(store)('compact', dev.id)
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/^No checkpoint was made: it would reclaim less than 10 %.* nothing is lost\.\n/)
  })
})

describe('colloquy checkpoint', () => {
  it('colloquy checkpoint shows the newest, its history, what changed, and the messages behind it', async () => {
    const { colloquy, store } = await freshColloquy(small)
    const dev = await developer(colloquy)
    const none = await cliOn(store)('checkpoint', dev.id)
    await talk(colloquy, dev.id, { turns: 20 })
    await colloquy.sessions.forceCompact(dev.id)
    await talk(colloquy, dev.id, { turns: 20 })
    await colloquy.sessions.forceCompact(dev.id)
    const newest = (await colloquy.sessions.getCheckpoint(dev.id))!
    const item = newest.items.find(({ section }) => section === 'decisions')!
    const cli = cliOn(store)

    const [shown, history, diff, expanded, diffJson, expandedJson] = await Promise.all([
      cli('checkpoint', dev.id),
      cli('checkpoint', dev.id, '--history'),
      cli('checkpoint', dev.id, '--diff', '1', '2'),
      cli('checkpoint', dev.id, '--expand', item.id),
      cli('checkpoint', dev.id, '--diff', '1', '2', '--json'),
      cli('checkpoint', dev.id, '--expand', item.id, '--json'),
    ])

    expect(none).toMatchObject({ exitCode: 0, stdout: '' })
    expect(none.stderr).toContain('no checkpoint yet')
    expect(shown.stdout).toMatch(/^Checkpoint 2 of dev on feature login\nstands for +versions \d+ to \d+ /)
    expect(shown.stdout).toContain(
      `\nDecisions\n  - ${newest.items.find(({ section }) => section === 'decisions')!.text}\n    ${item.id} · from ${item.sources[0]}`,
    )
    const [heading, ...rows] = history.stdout.trimEnd().split('\n')
    expect(heading).toMatch(/^NUMBER +AUTHOR +VERSIONS +MESSAGES +ITEMS +TOKENS/)
    expect(rows.map(row => row.trim().split(/ {2,}/).slice(0, 3))).toEqual([
      ['2', 'offline', rangeOf(newest)],
      ['1', 'offline', expect.stringMatching(/^\d+–\d+$/)],
    ])
    expect(diff.stdout).toMatch(/^From checkpoint 1 to 2\n\nAdded\n {2}\+ /)
    expect(diffJson.json()).toMatchObject({ first: 1, second: 2, diff: { added: expect.any(Array) } })
    expect(expanded.stdout).toMatch(new RegExp(`^Decisions\n  - .*\n    ${item.id} .*\n\n#${item.sources[0]}  dev`))
    expect(expandedJson.json()).toMatchObject({ item: { id: item.id }, messages: [{ version: item.sources[0] }] })
  })

  it('colloquy checkpoint takes one way to look at a time, two numbers for a difference, and known items only', async () => {
    const { colloquy, store } = await freshColloquy(small)
    const dev = await developer(colloquy)
    const cli = cliOn(store)
    const runs = await Promise.all([
      cli('checkpoint', dev.id, '--history', '--expand', 'x'),
      cli('checkpoint', dev.id, '--diff', '1'),
      cli('checkpoint', dev.id, '--diff', '1', '2'),
      cli('checkpoint', dev.id, '--expand', 'x', '--json'),
    ])
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([2, 2, 1, 1])
    expect(runs[1]!.stderr).toContain('--diff 1 2')
    expect(runs[3]!.error()).toMatchObject({ code: 'not-found', facts: { what: 'item', id: 'x' } })
  })
})

function rangeOf({ from, upTo }: Checkpoint): string {
  return `${from}–${upTo}`
}
