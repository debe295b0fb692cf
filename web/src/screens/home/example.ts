/** The example that an empty project offers: a small team at work, written through the public API. */
import type { Client } from 'colloquy/client'

/** @returns the id of the conversation */
export async function writeExample(client: Client): Promise<string> {
  const feature = { type: 'feature', featureId: 'example-login' } as const
  const pm = await client.sessions.getOrCreate({
    body: { ...feature, agentType: 'pm', title: 'Example: a login page' },
  })
  const dev = await client.sessions.getOrCreate({ body: { ...feature, agentType: 'dev' } })
  const { conversationId } = pm
  const say = (content: string) =>
    client.conversations.say({ conversationId, body: { role: 'user', author: 'owner', content } })
  const assistant = (sessionId: string, content: string) =>
    client.sessions.addMessage({ sessionId, body: { role: 'assistant', content } })

  await say('We need a login page: e-mail and password, a link for those who forgot it, **no third parties**.')
  await assistant(
    pm.id,
    'Three tasks:\n\n1. the form, checked on the server\n2. sessions in a cookie (`HttpOnly`, `SameSite=Strict`)\n3. tests\n\nI hand the form to dev.',
  )
  const { legal } = await client.teams.phase({ conversationId })
  const phase = legal.includes('execute') ? { phase: 'execute' } : {}
  await client.teams.startTurn({
    conversationId,
    body: { agents: ['dev'], ...phase, reason: 'The plan stands', instruction: 'Build the form' },
  })
  await client.sessions.addMessage({
    sessionId: dev.id,
    body: {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'The folder may hold a form already. Looking is cheaper than writing it twice.' },
        { type: 'text', text: 'I look at what is there first.' },
        { type: 'tool-call', callId: 'example-1', name: 'read_file', input: { path: 'src/login.ts' } },
      ],
    },
  })
  await client.sessions.addMessage({
    sessionId: dev.id,
    body: {
      role: 'user',
      author: 'tools',
      parts: [{ type: 'tool-result', callId: 'example-1', name: 'read_file', output: 'export function login() {}\n' }],
    },
  })
  for (const field of ['e-mail', 'password', 'remember me', 'forgotten password']) {
    await client.sessions.addMessage({
      sessionId: dev.id,
      body: { role: 'user', author: 'pm', content: `What does the form say when “${field}” is wrong?` },
    })
    await assistant(
      dev.id,
      `Under “${field}” stands what is wrong and how to put it right; screen readers are told at once. Decision: errors are texts, never colours alone. File: \`src/fields/${field.replaceAll(' ', '-')}.ts\`.`,
    )
  }
  await client.sessions.compact({ sessionId: dev.id, body: { keep: { messages: 2 } } })
  await assistant(
    dev.id,
    'The form is done:\n\n```ts\nexport async function login(form: FormData): Promise<Session> {\n  const email = String(form.get("email"))\n  if (!email.includes("@")) throw new InvalidInput("email")\n  return openSession(email)\n}\n```',
  )
  await client.teams.completeTurn({ conversationId, body: { agent: 'dev', message: 'The form is done.' } })
  await say('Looks good. Ship it on Friday.')
  return conversationId
}
