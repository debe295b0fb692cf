/** A chat as a person at a terminal has it. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openColloquy } from 'colloquy'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { temporaryFolder } from '../../support/temporary.ts'
import { hasTmux, type Person, personAt } from '../../support/tmux.ts'

const entry = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url))
const pretence = new URL('../../support/processes/passes-for-a-terminal.mjs', import.meta.url).href

/** Answers with what it was told last; some words make it do other things. */
const agent = `
let prompt = ''
process.stdin.on('data', data => (prompt += data)).on('end', () => {
  const lines = prompt.trimEnd().split('\\n')
  if (prompt.trimEnd().endsWith('for ever')) {
    process.stdout.write('I begin **now** and')
    setInterval(() => {}, 1000)
    return
  }
  if (prompt.trimEnd().endsWith('Plan it')) return console.log(plan)
  console.log('You said ' + JSON.stringify(lines.slice(lines[0] === undefined ? 0 : -3).join('|')))
})
const plan = [
  '# The plan', '', 'It has **two** parts, see [docs](https://example.org):', '', '- the \`form\`', '- its tests', '',
  '| part | file |', '|---|---|', '| form | src/form.ts |', '', '\`\`\`ts', 'const a_b_c = 1', '\`\`\`', 'Done.',
].join('\\n')
`

interface Chat extends Person {
  folder: string
  store: string
}

function chat(more: { columns?: number; args?: string[]; env?: Record<string, string> } = {}): Chat {
  const folder = temporaryFolder()
  const file = join(folder, 'agent.mjs')
  writeFileSync(file, agent)
  const store = `sqlite:${join(folder, 'colloquy.db')}`
  return { folder, store, ...again({ folder, store }, more) }
}

/** Another chat on the same store. */
function again(
  { folder, store }: { folder: string; store: string },
  { columns, args = [], env }: { columns?: number; args?: string[]; env?: Record<string, string> } = {},
): Person {
  const model = `command:node ${join(folder, 'agent.mjs')}`
  const options = ['--store', store, '--project', 'shop', 'chat', '--feature', 'login', '--model', model, ...args]
  return personAt([process.execPath, entry, ...options], {
    cwd: folder,
    ...(columns !== undefined && { columns }),
    ...(env && { env }),
  })
}

async function storedChat({ store }: Pick<Chat, 'store'>) {
  const colloquy = await openColloquy({ store, project: 'shop', sweepEveryMs: null })
  try {
    const session = await colloquy.sessions.getActiveSession({ type: 'feature', agentType: 'pm', featureId: 'login' })
    return await colloquy.conversations.getMessages(session!.conversationId, { limit: 100 })
  } finally {
    await colloquy.close()
  }
}

const prompt = 'you ›'
/** The prompt stands alone on the last line: it waits. */
const waits = (screen: string) => screen.split('\n').at(-1) === prompt

describe.skipIf(!hasTmux)('on a terminal (skipped where tmux is not installed)', () => {
  it('a chat on a terminal reads well: marks become colours, tables columns, and a line says how full the request is', async () => {
    const person = chat()
    await person.sees(waits)
    person.type('Plan it', 'Enter')
    const screen = await person.sees(text => text.includes('until compaction') && waits(text))
    const lines = screen.split('\n')
    expect(lines[0]).toMatch(/^Chat with pm\./)
    expect(lines.slice(1, -2)).toEqual([
      'you › Plan it',
      'pm › The plan',
      '',
      'It has two parts, see docs (https://example.org):',
      '',
      '• the form',
      '• its tests',
      '',
      'part  file',
      '────  ───────────',
      'form  src/form.ts',
      '',
      '  ts',
      '  const a_b_c = 1',
      'Done.',
    ])
    expect(lines.at(-2)).toMatch(/^[\d,]+ of 100,000 tokens \(\d %\) · [\d,]+ until compaction$/)
    expect(person.screen({ colours: true })).toMatch(/\u001b\[1m[^\n]*two/)
  })

  it('Ctrl-C stops the answer and keeps it; at the prompt it discards the line; Ctrl-D leaves', async () => {
    const person = chat()
    await person.sees(waits)
    person.type('Go on for ever', 'Enter')
    await person.sees('I begin now and')
    person.type('C-c')
    await person.sees(text => text.includes('[cancelled: it was stopped]') && waits(text))
    person.type('never sent', 'C-c')
    await person.sees(waits)
    person.type('C-c')
    await person.sees('/quit or Ctrl-D leaves.')
    person.type('C-d')
    await expect.poll(() => person.isOver(), { timeout: 30_000 }).toBe(true)
    const [asked, said, ...rest] = await storedChat(person)
    expect(asked?.content).toBe('Go on for ever')
    expect(said).toMatchObject({ content: 'I begin **now** and', metadata: { cutOff: 'cancelled' } })
    expect(rest).toEqual([])
  })

  it('a chat on a terminal takes several lines: by a backslash, by pasting, and typed while the agent answers', async () => {
    const person = chat()
    await person.sees(waits)
    person.type('one \\', 'Enter', 'two', 'Enter')
    await person.sees(text => text.includes('You said') && waits(text))
    person.paste('three\nfour\nfive')
    await person.sees('five')
    person.type('Enter')
    await person.sees(text => (text.match(/You said/g)?.length ?? 0) === 2 && waits(text))
    person.type('Go on for ever', 'Enter')
    await person.sees('I begin')
    person.type('typed ahead', 'Enter')
    person.type('C-c')
    await person.sees(text => (text.match(/You said/g)?.length ?? 0) === 3 && waits(text))
    expect(person.screen()).toContain('you › typed ahead')
    const said = (await storedChat(person)).filter(message => message.role === 'user').map(message => message.content)
    expect(said).toEqual(['one \ntwo', 'three\nfour\nfive', 'Go on for ever', 'typed ahead'])
  })

  it('a chat on a terminal remembers what was typed, also in the next chat', async () => {
    const person = chat()
    await person.sees(waits)
    person.type('first thing', 'Enter')
    await person.sees(text => text.includes('You said') && waits(text))
    person.type('/quit', 'Enter')
    await expect.poll(() => person.isOver(), { timeout: 30_000 }).toBe(true)
    const later = again(person)
    await later.sees(waits)
    later.type('Up')
    await later.sees('you › first thing')
  })

  it('a chat on a terminal draws its line again when the terminal is resized, and shows the rest of an answer in the new size', async () => {
    const person = chat({ columns: 100 })
    await person.sees(waits)
    person.type('a line that is half typed')
    await person.sees('half typed')
    person.resize(40, 30)
    await person.sees('half typed')
    person.type(' and then sent', 'Enter')
    await person.sees(text => text.includes('You said') && waits(text))
    const said = (await storedChat(person)).map(message => message.content)
    expect(said[0]).toBe('a line that is half typed and then sent')
  })

  it('a chat on a terminal shows no colours where NO_COLOR is set: marks stay as they were written', async () => {
    const person = chat({ env: { NO_COLOR: '1' } })
    await person.sees(waits)
    person.type('Plan it', 'Enter')
    await person.sees(text => text.includes('until compaction') && waits(text))
    expect(person.screen()).toContain('It has **two** parts')
    expect(person.screen({ colours: true })).not.toContain('\u001b[1m')
  })

  it('a chat on a terminal has commands next to messages', async () => {
    const person = chat()
    await person.sees(waits)
    person.type('Hello', 'Enter')
    await person.sees(text => text.includes('You said') && waits(text))
    for (const [command, shows] of commands) {
      person.type(command, 'Enter')
      await person.sees(shows)
      await person.sees(waits)
    }
    person.type('/quit', 'Enter')
    await expect.poll(() => person.isOver(), { timeout: 30_000 }).toBe(true)
  })
})

const commands: ReadonlyArray<[command: string, shows: string | RegExp]> = [
  ['/agents', /pm \(pm\), 2 messages/],
  ['/request And then?', /of 100,000 tokens/],
  ['/checkpoint', 'There is no checkpoint yet.'],
  ['/compact', /[Nn]othing/],
  ['/clear', 'The agent starts anew. The log keeps what was said.'],
  ['/model', 'command:node'],
  ['/model scripted:other.txt', 'From now on: scripted:other.txt'],
  ['/cost', /1 run: .* no price known/],
  ['/branch Another way', 'On the branch "Another way"'],
  ['/nonsense', 'There is no /nonsense.'],
  ['/help', /\/request\s+what the agent would be sent next/],
]

describe('through pipes that pass for a terminal', () => {
  /** Keys as a terminal sends them, and everything that was written so far. */
  function typist({ folder, store }: Pick<Chat, 'folder' | 'store'>) {
    const options = ['--store', store, '--project', 'shop', 'chat', '--feature', 'login']
    const model = ['--model', `command:node ${join(folder, 'agent.mjs')}`]
    const { NO_COLOR: _, ...env } = process.env
    // Both outputs in one pipe: what came first is seen first.
    const both = ['-c', 'exec "$@" 2>&1', 'sh', process.execPath, '--import', pretence, entry]
    const child = spawn('sh', [...both, ...options, ...model], {
      cwd: folder,
      env: { ...env, FORCE_COLOR: '1' },
    })
    onTestFinished(() => void child.kill())
    let written = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      written += text
    })
    return {
      keys: (text: string) => void child.stdin.write(text),
      /** Waits until this was written since the last time. */
      async until(text: string): Promise<string> {
        await vi.waitFor(() => expect(written).toContain(text), { timeout: 90_000, interval: 20 })
        const end = written.indexOf(text) + text.length
        const found = written.slice(0, end)
        written = written.slice(end)
        return found
      },
      over: new Promise<number | null>(resolve => child.on('close', resolve)),
    }
  }

  function place() {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'agent.mjs'), agent)
    return { folder, store: `sqlite:${join(folder, 'colloquy.db')}` }
  }

  it('a chat through pipes that pass for a terminal shows the answer with its marks, stops and keeps one, and takes typed and pasted text', async () => {
    const where = place()
    const { keys, until, over } = typist(where)
    await until('you ›')
    keys('Plan it\r')
    const plan = await until('until compaction')
    expect(plan).toContain('\u001b[1mtwo\u001b[22m parts')
    expect(plan).toContain('form  src/form.ts')
    keys('Go on for ever\r')
    await until('I begin')
    keys('typed ahead\r\u0003')
    await until('cancelled: it was stopped')
    await until('You said')
    await until('you ›')
    keys('\u001b[200~three\nfour\u001b[201~\r')
    await until('You said')
    await until('you ›')
    for (const [command, shows] of commands) {
      keys(`${command}\r`)
      if (typeof shows === 'string') await until(shows)
      await until('you ›')
    }
    keys('\u0004')
    expect(await over).toBe(0)
    const said = (await storedChat(where)).map(message => message.content)
    expect(said.filter(text => !text.startsWith('You said'))).toEqual([
      'Plan it',
      expect.stringContaining('# The plan'),
      'Go on for ever',
      'I begin **now** and',
      'typed ahead',
      'three\nfour',
    ])
  }, 240_000)
})
