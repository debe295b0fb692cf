/**
 * A store as a team leaves it after a few hours: features in work, a long session with checkpoints, a conversation that
 * went through phases and turns, beads, an open question. Written through the library, for screenshots and tests of the UI.
 */
import type { Colloquy } from 'colloquy'
import { scriptedModel } from 'colloquy/models/scripted'

export interface Demo {
  /** The feature whose conversation has phases, turns, agents. */
  feature: string
  conversationId: string
  /** The developer's session on a task: long, with checkpoints. */
  developerSessionId: string
  taskConversationId: string
}

/** Time for the store to be filled in: it ends now. */
export interface DemoClock {
  now(): number
  pass(minutes: number): void
}

/** A clock that begins some hours ago. */
export function demoClock(hoursAgo = 2.75): DemoClock {
  let ago = hoursAgo * 3_600_000
  return {
    now: () => Date.now() - Math.max(0, ago),
    pass: minutes => {
      ago -= minutes * 60_000
    },
  }
}

export async function fillDemo(colloquy: Colloquy, clock: Pick<DemoClock, 'pass'> = { pass() {} }): Promise<Demo> {
  await planWork(colloquy)
  clock.pass(20)
  const { developerSessionId, taskConversationId } = await addDevelopment(colloquy, clock)
  const conversationId = await addDiscussion(colloquy, clock)
  await addReview(colloquy, clock)
  await beads(colloquy)
  await addChat(colloquy, clock)
  return { feature: 'passkeys', conversationId, developerSessionId, taskConversationId }
}

async function planWork({ work }: Colloquy): Promise<void> {
  await work.addFeature({
    featureId: 'passkeys',
    name: 'Sign in with a passkey',
    goal: 'Customers sign in without a password; the password stays as a way back.',
    baseBranch: 'main',
    priority: 1,
  })
  await work.planTasks('passkeys', {
    add: [
      {
        taskId: 'schema',
        title: 'Store credentials',
        description: 'A table of public keys per customer, with counters.',
      },
      { taskId: 'challenge', title: 'Challenge endpoint', dependencies: ['schema'] },
      { taskId: 'register', title: 'Register a passkey', dependencies: ['challenge'] },
      {
        taskId: 'sign-in',
        title: 'Sign in with a passkey',
        description: 'Verify the assertion, rotate the session, count the use.',
        dependencies: ['challenge', 'schema'],
      },
      { taskId: 'settings', title: 'Passkeys in account settings', dependencies: ['register'] },
      { taskId: 'fallback', title: 'Password as a way back', dependencies: ['sign-in'] },
      { taskId: 'limits', title: 'Rate limits and lock-out', dependencies: ['sign-in'] },
      { taskId: 'e2e', title: 'End-to-end tests in two browsers', dependencies: ['settings', 'fallback', 'limits'] },
      { taskId: 'docs', title: 'Help page for customers', dependencies: ['settings'] },
    ],
    reason: 'The first cut, agreed with the owner',
  })
  await work.moveFeature('passkeys', 'in_progress')
  const statesToMerged = ['in_dev', 'dev_complete', 'in_qa', 'qa_complete', 'ready_for_merge', 'merged'] as const
  for (const taskId of ['schema', 'challenge'])
    for (const state of statesToMerged) await work.moveTask('passkeys', taskId, state)
  for (const state of statesToMerged.slice(0, 3)) await work.moveTask('passkeys', 'register', state)
  await work.moveTask('passkeys', 'sign-in', 'in_dev')

  await work.addFeature({
    featureId: 'checkout',
    name: 'Checkout in two steps',
    goal: 'Fewer carts left behind.',
    priority: 2,
  })
  await work.planTasks('checkout', {
    add: [
      { taskId: 'address', title: 'Address on one page' },
      { taskId: 'payment', title: 'Payment on one page', dependencies: ['address'] },
      { taskId: 'summary', title: 'Summary beside both', dependencies: ['address'] },
      { taskId: 'measure', title: 'Measure where people leave', dependencies: ['payment', 'summary'] },
    ],
  })
  await work.moveFeature('checkout', 'in_progress')
  await work.moveTask('checkout', 'address', 'in_dev')
  await work.moveTask('checkout', 'address', 'blocked', { reason: 'The design of the address field is not decided' })

  await work.addFeature({ featureId: 'export', name: 'Orders as a file', goal: 'Accountants get their orders as CSV.' })
}

/** The feature's own conversation: a person, a planner, an orchestrator, two agents. */
async function addDiscussion({ conversations, sessions }: Colloquy, clock: Pick<DemoClock, 'pass'>): Promise<string> {
  const pm = await sessions.getOrCreateSession({ type: 'feature', agentType: 'pm', featureId: 'passkeys' })
  const id = pm.conversationId
  const say = async (role: 'user' | 'assistant', author: string, content: string, more = {}) => {
    clock.pass(2)
    await conversations.addEvent(id, { role, author, content, ...more })
  }
  await say('user', 'owner', 'Customers should be able to sign in with a passkey. Keep the password as a way back.')
  await say(
    'assistant',
    'pm',
    'I would build it in this order:\n\n1. **Store credentials** – public keys and counters per customer\n2. **Challenge endpoint** – single use, two minutes\n3. **Register** and **sign in**\n4. Settings, limits, tests in two browsers\n\nOpen: do we allow several passkeys per customer?',
  )
  await say('user', 'owner', 'Yes, up to ten. And no third-party service may see the credentials.', { pinned: true })
  await conversations.transitionPhase(id, { to: 'plan', message: 'Plan it', reason: 'the goal is clear' })
  await say(
    'assistant',
    'pm',
    'Planned: nine tasks, two of them can begin now. Ten passkeys per customer, nothing leaves our servers.',
  )
  clock.pass(10)
  await conversations.startOrchestratorTurn(id, {
    agents: ['dev', 'qa'],
    phase: 'execute',
    reason: 'the plan stands',
    instruction: 'Build the challenge endpoint; write its tests',
    orchestrator: 'harness',
  })
  clock.pass(12)
  await say(
    'assistant',
    'dev',
    "The endpoint gives a challenge that is good once and for two minutes:\n\n```ts\nexport async function challenge(customerId: string): Promise<Challenge> {\n  const bytes = randomBytes(32)\n  await challenges.put(customerId, bytes, { expiresInMs: 120_000 })\n  return { challenge: bytes.toString('base64url'), rpId: settings.host }\n}\n```",
  )
  await conversations.addCompletionToTurn(id, { agent: 'dev', message: 'The endpoint is there, with its migration.' })
  await say(
    'assistant',
    'qa',
    'Used twice it answers `410`; after two minutes too. A challenge of another customer is refused.',
  )
  await conversations.addCompletionToTurn(id, { agent: 'qa', message: 'Eleven tests, all green.' })
  clock.pass(15)
  await conversations.startOrchestratorTurn(id, {
    agents: ['dev'],
    reason: 'the challenge is merged',
    instruction: 'Verify assertions on the server',
    orchestrator: 'harness',
  })
  await conversations.acknowledge(id, 'pm', (await conversations.getConversation(id)).version)
  await say('user', 'owner', 'Please make sure that a copied credential is noticed.')
  await say(
    'assistant',
    'dev',
    'The counter of the authenticator must go up; if it does not, the passkey is locked and the customer is told.',
  )
  await say('assistant', 'qa', 'I have added a test with a counter that stands still.')
  for (const agentType of ['dev', 'qa']) {
    await sessions.getOrCreateSession({ type: 'feature', agentType, featureId: 'passkeys' })
  }
  return id
}

const files = ['assertion.ts', 'counter.ts', 'session.ts', 'challenge.ts', 'credentials.ts', 'errors.ts', 'routes.ts']

/** The developer at work: calls, results, and so much of it that older messages become checkpoints. */
async function addDevelopment({ sessions }: Colloquy, clock: Pick<DemoClock, 'pass'>) {
  const task = {
    type: 'task',
    agentType: 'dev',
    featureId: 'passkeys',
    taskId: 'sign-in',
    taskState: 'in_dev',
  } as const
  const session = await sessions.getOrCreateSession(task)
  const { id } = session
  await sessions.setRequestSettings(id, { budget: 6000 })
  await sessions.addMessage(id, {
    role: 'user',
    content:
      'Verify the assertion, rotate the session, count the use. Never log a credential. The goal is a sign-in in under 200 ms.',
  })
  for (let step = 1; step <= 26; step++) {
    clock.pass(3)
    const file = files[step % files.length]!
    const path = `src/sign-in/${file}`
    const callId = `call-${step}`
    const isEdit = step % 3 === 0
    await sessions.addMessage(id, {
      role: 'assistant',
      parts: [
        { type: 'text', text: remarks[step % remarks.length]!.replace('FILE', path) },
        isEdit
          ? {
              type: 'tool-call',
              callId,
              name: 'edit_file',
              input: { path, find: 'return true', replace: 'return isNewer' },
            }
          : { type: 'tool-call', callId, name: 'read_file', input: { path } },
      ],
      iteration: step,
      usage: { input: 900 + step * 130, output: 140 },
    })
    await sessions.addMessage(id, {
      role: 'user',
      author: 'tools',
      parts: [
        {
          type: 'tool-result',
          callId,
          name: isEdit ? 'edit_file' : 'read_file',
          output: isEdit ? 'done' : source(file, step),
        },
      ],
    })
    if (step % 7 === 0) {
      await sessions.addMessage(id, { role: 'user', content: asks[(step / 7) % asks.length]! })
      await sessions.addMessage(id, { role: 'assistant', content: answers[(step / 7) % answers.length]! })
    }
    if (step % 9 === 0) await sessions.buildRequest(id, `Go on with ${path}`)
  }
  await sessions.forceCompact(id, { keep: { tokens: 1800 } })
  await sessions.addMessage(id, { role: 'user', content: 'What is left before it can be checked?' })
  return { developerSessionId: id, taskConversationId: session.conversationId }
}

const remarks = [
  'I look at FILE first: the counter is read there.',
  'The comparison in FILE accepts an equal counter. That must be refused.',
  'Decision: sessions are rotated in FILE, right after the assertion holds.',
  'FILE still swallows the error of a damaged key. I let it through as a typed error.',
  'The tests of FILE pass; the slow one takes 140 ms.',
  'Blocked for a moment: FILE needs the table of the task before it. It is merged now.',
]
const asks = [
  'How is a copied credential noticed?',
  'Does anything log the credential?',
  'How long does a sign-in take now?',
]
const answers = [
  'By its counter: one that does not go up locks the passkey, and the customer is told by mail.',
  'No. The only field that is logged is the last four characters of its id.',
  '140 ms at the 95th percentile, of which 90 ms are the signature.',
]

function source(file: string, step: number): string {
  const name = file.replace('.ts', '')
  const lines = Array.from(
    { length: 12 },
    (_, line) => `  ${name}.check(${step * 10 + line}, credential.counter) // ${line}`,
  )
  return `import { ${name} } from './${file}'\n\nexport function verify(credential: Credential) {\n${lines.join('\n')}\n  return true\n}`
}

/** Quality assurance on another task, and one whose session was put away. */
async function addReview({ sessions }: Colloquy, clock: Pick<DemoClock, 'pass'>): Promise<void> {
  const task = { type: 'task', featureId: 'passkeys', taskId: 'register' } as const
  const dev = await sessions.getOrCreateSession({ ...task, agentType: 'dev', taskState: 'in_dev' })
  await sessions.addMessage(dev.id, { role: 'assistant', content: 'Registration works in both browsers.' })
  await sessions.archiveSession(dev.id, 'development is over')
  const qa = await sessions.getOrCreateSession({ ...task, agentType: 'qa', taskState: 'in_qa' })
  clock.pass(6)
  await sessions.addMessage(qa.id, { role: 'user', content: 'Check the registration of a second passkey.' })
  await sessions.addMessage(qa.id, {
    role: 'assistant',
    content: 'The eleventh is refused, as it should be. Names may not be empty: that is missing.',
  })
}

async function beads({ work }: Colloquy): Promise<void> {
  const rows = [
    ['b-101', 'Order list is slow above 500 orders', 'bug', ['performance'], 0, 'in_progress'],
    ['b-102', 'Mail says "undefined" without a first name', 'bug', ['mail'], 1, 'open'],
    ['b-103', 'Update the card icons', 'chore', ['design'], 4, 'parked'],
    ['b-104', 'Count sign-ins by method', 'task', ['passkeys', 'numbers'], 2, 'open'],
    ['b-105', 'Remove the old cart endpoint', 'chore', ['api'], 3, 'done'],
  ] as const
  for (const [beadId, title, kind, labels, priority, state] of rows) {
    await work.addBead({ beadId, title, kind, labels: [...labels], priority })
    if (state === 'done') await work.moveBead(beadId, 'in_progress')
    if (state !== 'open') await work.moveBead(beadId, state)
  }
  await work.addBead({ beadId: 'b-106', title: 'Chart of sign-ins by method', dependencies: ['b-104'], agent: 'dev' })
}

/** A thread with a planner that asks something back: the question stays open. */
async function addChat({ sessions, agents }: Colloquy, clock: Pick<DemoClock, 'pass'>): Promise<void> {
  const session = await sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId: 'release 2.4' })
  clock.pass(5)
  await agents.run(session.id, {
    message: 'What goes into release 2.4?',
    model: scriptedModel([
      'Passkeys behind a switch, the two-step checkout if the address field is decided, and five fixes.',
    ]),
  })
}
