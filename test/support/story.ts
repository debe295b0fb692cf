/**
 * A conversation in which everything happens that a timeline can show: phases, turns, tools, reasoning, files, code, a
 * compaction, a branch. For pages to be looked at and tested on.
 */
import type { Colloquy } from 'colloquy'

export interface Story {
  conversationId: string
  dev: string
  pm: string
  branchId: string
}

export async function tellStory(colloquy: Colloquy): Promise<Story> {
  const { conversations, sessions } = colloquy
  const feature = { type: 'feature', featureId: 'login' } as const
  const pm = await sessions.getOrCreateSession({ ...feature, agentType: 'pm', title: 'Login page' })
  const dev = await sessions.getOrCreateSession({ ...feature, agentType: 'dev' })
  const { conversationId: id } = pm
  await conversations.addEvent(id, {
    role: 'user',
    author: 'owner',
    content: 'We need a **login page**: e-mail and password, a link for those who forgot it, and no third parties.',
  })
  await conversations.transitionPhase(id, { to: 'plan', message: 'The request is clear.', agent: 'pm' })
  await sessions.addMessage(pm.id, {
    role: 'assistant',
    parts: [
      {
        type: 'reasoning',
        text: 'Three pieces: the form, the session, the tests. The session decides about the rest.',
      },
      {
        type: 'text',
        text: '## Plan\n\n1. The form, with validation on the server\n2. Sessions in a cookie (`HttpOnly`, `SameSite=Strict`)\n3. Tests\n\n| task | who | size |\n|---|---|---|\n| form | dev | small |\n| session | dev | middle |\n\nSee [the guidelines](https://example.org/guidelines).',
      },
    ],
    usage: { input: 1200, output: 240, cost: 0.0042 },
  })
  await conversations.startOrchestratorTurn(id, {
    agents: ['dev'],
    phase: 'execute',
    reason: 'The plan stands',
    instruction: 'Build the form',
  })
  await sessions.addMessage(dev.id, {
    role: 'user',
    author: 'pm',
    addressees: ['dev'],
    content: 'Please build the form.',
  })
  await sessions.addMessage(dev.id, {
    role: 'assistant',
    parts: [
      { type: 'text', text: 'I look at what is there first.' },
      { type: 'tool-call', callId: 'call-1', name: 'read_file', input: { path: 'src/login.ts' } },
    ],
  })
  await sessions.addMessage(dev.id, {
    role: 'user',
    author: 'tools',
    parts: [
      {
        type: 'tool-result',
        callId: 'call-1',
        name: 'read_file',
        output: 'export function login() {\n  // to be done\n  return undefined\n}\n',
      },
    ],
  })
  for (let step = 1; step <= 12; step++) {
    await sessions.addMessage(dev.id, {
      role: 'user',
      author: 'pm',
      content: `What about case ${step}? ${'The form must say what is wrong, next to the field it is about. '.repeat(6)}`,
    })
    await sessions.addMessage(dev.id, {
      role: 'assistant',
      content: `Case ${step} is handled in \`src/form-${step}.ts\`. ${'The error stands below its field and is read out. '.repeat(6)}`,
    })
  }
  await sessions.forceCompact(dev.id, { keep: { messages: 4 } })
  await sessions.addMessage(dev.id, {
    role: 'assistant',
    content:
      'The form is done:\n\n```ts\nexport async function login(form: FormData): Promise<Session> {\n  const email = String(form.get("email")) // as it was typed\n  if (!email.includes("@")) throw new InvalidInput("email")\n  return openSession(email, 24 * 60)\n}\n```\n\n- [x] validation\n- [ ] tests',
    usage: { input: 5400, output: 320, cost: 0.021 },
  })
  await conversations.addCompletionToTurn(id, { agent: 'dev', message: 'The form is done.' })
  const { id: pinned } = await conversations.addEvent(id, {
    role: 'user',
    author: 'owner',
    content: 'Ship it on Friday, and never send a password by mail.',
  })
  await conversations.pinMessage(pinned, true)
  const { version } = await conversations.getConversation(id)
  const branch = await conversations.branch(id, version, { title: 'Login page with a magic link' })
  await conversations.addEvent(id, { role: 'system', author: 'harness', content: 'The checks pass: 14 of 14.' })
  return { conversationId: id, dev: dev.id, pm: pm.id, branchId: branch.id }
}
