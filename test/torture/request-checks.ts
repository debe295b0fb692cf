/** Promises 5, 6, 7, 8 and 12 about any request, checked from outside. Each broken one is a sentence. */
import { isDeepStrictEqual } from 'node:util'
import {
  type AgentRequest,
  type Checkpoint,
  type Message,
  type RequestMessage,
  type RequestPart,
  requestFor,
} from 'colloquy'
import type { BudgetTooSmall } from 'colloquy/errors'
import { ruleBreaks } from '../support/provider-rules.ts'
import type { Ask } from './request-cases.ts'
import type { RequestTable, Said, Seat } from './request-table.ts'

export interface Asked {
  mark: string
  stored: Said | undefined
  step: Ask
}

interface Checking {
  table: RequestTable
  seat: Seat
  request: AgentRequest
  asked: Asked
  count: (text: string) => number
}

export function checkRequest(checking: Checking): string[] {
  return [
    ...budget(checking),
    ...coverage(checking),
    ...instruction(checking),
    ...legality(checking),
    ...forms(checking),
    ...content(checking),
  ]
}

/** [P5] Inside the budget, by the ledger and by counting what is really sent, in both renderings. */
function budget({ request, asked, count }: Checking): string[] {
  const { totalTokens, ledger, systemPrompt, userPrompt, system, messages } = request
  const problems: string[] = []
  if (totalTokens > request.budget) problems.push(`[P5] ${totalTokens} tokens in a budget of ${request.budget}`)
  if (request.budget > asked.step.budget)
    problems.push(`[P5] a budget of ${request.budget} where ${asked.step.budget} was asked`)
  const prompt = count(systemPrompt) + count(userPrompt)
  if (prompt > totalTokens) problems.push(`[P5] the prompt has ${prompt} tokens, the ledger says ${totalTokens}`)
  const sent = partsOf(messages).reduce(
    (sum, part) => sum + count(part.type === 'text' ? part.text : JSON.stringify(part)),
    count(system),
  )
  if (sent > totalTokens) problems.push(`[P5] the messages have ${sent} tokens, the ledger says ${totalTokens}`)
  const accounted = ledger.entries
    .filter(one => one.fate === 'kept' || one.fate === 'trimmed')
    .reduce((sum, one) => sum + one.tokens, 0)
  if (accounted !== totalTokens) problems.push(`[P5] the ledger's entries make ${accounted}, its sum is ${totalTokens}`)
  return problems
}

/** Finds the place of each version in the ledger. */
function placesOf({ ledger }: AgentRequest) {
  const versionsOf = (wanted: (why: string) => boolean) =>
    ledger.entries.flatMap(one => (one.what === 'message' && wanted(one.why) ? (one.versions ?? []) : []))
  const range = ledger.entries.find(one => one.fate === 'summarised')?.range
  // The person's instruction stays like a pinned message, wherever it stands.
  const isStanding = (why: string) => why === 'pinned' || why.startsWith('the person’s instruction')
  return { pinned: versionsOf(isStanding), kept: versionsOf(why => !isStanding(why)), range }
}

/** [P6] Every visible version in exactly one of pinned, checkpointed, kept, omitted; and omitted is counted. */
function coverage({ table, seat, request, asked }: Checking): string[] {
  const problems: string[] = []
  const { pinned, kept, range } = placesOf(request)
  const onlyTalk = asked.step.strategy.name === 'recent'
  const isTalk = ({ message }: Said) => !onlyTalk || (message.role !== 'system' && !message.internal)
  const all = table.window(seat).filter(isTalk)
  const visible = new Set(all.map(one => one.message.version))
  if (seat.kept && isTalk(seat.kept)) visible.add(seat.kept.message.version)
  if (asked.stored) visible.add(asked.stored.message.version)
  const sent = [...pinned, ...kept]
  if (new Set(sent).size !== sent.length) problems.push(`[P6] twice in the request: ${sent}`)
  for (const version of sent) if (!visible.has(version)) problems.push(`[P6] ${version} is not of the window`)
  const upTo = range?.to ?? 0
  const covered = all.filter(one => one.message.version <= upTo)
  if (range && range.messages !== covered.length)
    problems.push(`[P6] the checkpoint says it stands for ${range.messages} messages, it is ${covered.length}`)
  for (const version of kept)
    if (version <= upTo && version !== asked.stored?.message.version)
      problems.push(`[P6] ${version} is kept and in the checkpoint`)
  const omittedVersions = [...visible].filter(version => version > upTo && !sent.includes(version))
  if (omittedVersions.length !== request.omitted)
    problems.push(`[P6] ${request.omitted} said to be left out, it is ${omittedVersions.length}: ${omittedVersions}`)
  const first = Math.min(...kept.filter(version => version !== asked.stored?.message.version))
  if (omittedVersions.some(version => version > first))
    problems.push(`[P6] a hole: ${omittedVersions} left out, ${kept} kept`)
  const stays = [...all.filter(one => one.message.pinned), ...(seat.kept && isTalk(seat.kept) ? [seat.kept] : [])]
  for (const { message } of stays)
    if (!sent.includes(message.version)) problems.push(`[P10] pinned ${message.version} is not in the request`)
  const notice = request.omitted > 0 ? `${request.omitted} older messages are left out` : ''
  if (!request.systemPrompt.includes(notice)) problems.push('[P6] what was left out is not said')
  return problems
}

/** [P10] The newest instruction of a person, and the one that opened the turn, whatever was left out. */
function instruction({ table, seat, request, asked }: Checking): string[] {
  const { pinned, kept } = placesOf(request)
  const sent = new Set([...pinned, ...kept, ...caughtUp(request)])
  const isPerson = ({ message }: Said) => isInstruction(message) && message.version !== asked.stored?.message.version
  const newest = table.window(seat).findLast(isPerson)?.message.version
  const isAnswer = asked.stored && isInstruction(asked.stored.message)
  return newest === undefined || isAnswer || sent.has(newest) ? [] : [`[P10] the instruction ${newest} is not in it`]
}

function isInstruction({ role, internal, parts }: Message): boolean {
  if (role !== 'user' || internal || parts.some(part => part.type === 'tool-result')) return false
  return parts.some(part => (part.type === 'text' ? part.text.trim() !== '' : part.type === 'file'))
}

function caughtUp({ ledger }: AgentRequest): number[] {
  return ledger.entries.flatMap(one => (one.what === 'catch-up' ? (one.versions ?? []) : []))
}

/** [P7] What providers accept: alternation, a user first and last, results right behind their calls, nothing invented. */
function legality({ table, seat, request }: Checking): string[] {
  const problems = rolesAndPairs(request.messages)
  const { pinned, kept, range } = placesOf(request)
  const sent = new Set([...pinned, ...kept])
  const window = table.window(seat)
  const answered = new Set(window.flatMap(one => one.results))
  for (const part of partsOf(request.messages))
    if ('callId' in part && !answered.has(part.callId))
      problems.push(`[P7] the running call ${part.callId} was repaired`)
  for (const asking of window) {
    for (const callId of asking.calls) {
      const answer = window.find(one => one.results.includes(callId))
      if (!answer || asking.message.version <= (range?.to ?? 0)) continue
      if (sent.has(asking.message.version) !== sent.has(answer.message.version))
        problems.push(`[P7] call ${asking.message.version} parted from its result ${answer.message.version}`)
    }
  }
  return problems
}

/** [P7] In the form of each SDK it breaks no rule of the provider. */
function forms({ request }: Checking): string[] {
  return dialects.flatMap(dialect =>
    ruleBreaks(dialect, requestFor(request, dialect, { cache: true })).map(problem => `[P7] ${problem}`),
  )
}

const dialects = ['anthropic', 'openai-chat', 'openai-responses', 'ai-sdk', 'gemini'] as const

function rolesAndPairs(messages: readonly RequestMessage[]): string[] {
  const problems: string[] = []
  if (messages[0]?.role !== 'user') problems.push('[P7] the first message is not a user’s')
  if (messages.at(-1)?.role !== 'user') problems.push('[P7] the last message is not the user’s')
  messages.forEach(({ role, content }, index) => {
    if (messages[index - 1]?.role === role) problems.push(`[P7] two ${role} messages in a row`)
    if (content.length === 0) problems.push('[P7] an empty message')
    if (content.some(part => part.type === 'text' && part.text === '')) problems.push('[P7] an empty text')
    const calls = idsIn(content, 'tool-call')
    const next = messages[index + 1]?.content ?? []
    if (!isDeepStrictEqual(calls, idsIn(next, 'tool-result')))
      problems.push(`[P7] calls ${calls} answered by ${idsIn(next, 'tool-result')}`)
    if (calls.length > 0 && next.slice(0, calls.length).some(part => part.type !== 'tool-result'))
      problems.push('[P7] a text stands between calls and their results')
  })
  return problems
}

function idsIn(content: readonly RequestPart[], type: 'tool-call' | 'tool-result'): string[] {
  return content.flatMap(part => (part.type === type ? [part.callId] : [])).sort()
}

/** [P7] The message once; [P12] what is kept is there, what the session may not see is not. */
function content({ table, seat, request, asked }: Checking): string[] {
  const problems: string[] = []
  const { pinned, kept, range } = placesOf(request)
  const sent = new Set([...pinned, ...kept])
  const prompt = `${request.systemPrompt}\n${request.userPrompt}`
  const texts = `${request.system}\n${partsOf(request.messages)
    .map(part => JSON.stringify(part))
    .join('\n')}`
  const window = new Set(table.window(seat))
  for (const one of table.said) {
    if (one.mark === '') continue
    const { version, parts } = one.message
    const [inPrompt, inTexts] = [timesIn(prompt, one.mark), timesIn(texts, one.mark)]
    const outside = !window.has(one) && one !== seat.kept
    if (outside && inPrompt + inTexts > 0)
      problems.push(`[P12] ${version} is outside the window or for others, and was sent`)
    if (!sent.has(version)) continue
    if (inPrompt === 0) problems.push(`[P6] ${version} is said to be in the request; the prompt has not got it`)
    const speaks = parts.some(
      part => JSON.stringify(part).includes(one.mark) && (part.type === 'text' || part.type === 'tool-result'),
    )
    if (speaks && inTexts === 0)
      problems.push(`[P6] ${version} is said to be in the request; the messages have not got it`)
  }
  const isOld = asked.stored && asked.stored.message.version <= (range?.to ?? 0)
  if (!isOld && (timesIn(prompt, asked.mark) !== 1 || timesIn(texts, asked.mark) !== 1))
    problems.push(
      `[P7] the message stands ${timesIn(prompt, asked.mark)} times in the prompt, ${timesIn(texts, asked.mark)} times in the messages`,
    )
  const last = request.messages.at(-1)?.content.findLast(part => part.type !== 'image')
  if (last?.type !== 'text' || !last.text.includes(asked.mark))
    problems.push('[P7] the message is not the last thing said')
  return problems
}

/** [P8] The same inputs, the same bytes. */
export function checkSame(one: AgentRequest, other: AgentRequest): string[] {
  const rendered = ({ systemPrompt, userPrompt, system, messages, ledger }: AgentRequest) =>
    JSON.stringify({ systemPrompt, userPrompt, system, messages, ledger })
  return rendered(one) === rendered(other) ? [] : ['[P8] the same request, other bytes']
}

/** [P8] With one message more and nothing cut, everything up to the newest of the old messages is the same. */
export function checkGrowth({
  table,
  seat,
  before,
  after,
}: {
  table: RequestTable
  seat: Seat
  before: AgentRequest
  after: AgentRequest
}): string[] {
  const isWhole = (request: AgentRequest) =>
    request.ledger.entries.every(one => one.fate === 'kept' || one.fate === 'summarised')
  if (!isWhole(before) || !isWhole(after)) return []
  const { kept, pinned } = placesOf(before)
  // The last messages of `recent` move on, and what is pinned then leaves its place among them.
  if (!isDeepStrictEqual(pinned, placesOf(after).pinned)) return []
  const newest = table.window(seat).findLast(one => kept.includes(one.message.version) && one.mark !== '')
  if (!newest) return []
  const problems: string[] = []
  const at = before.systemPrompt.lastIndexOf(newest.mark)
  const stable = before.systemPrompt.slice(0, before.systemPrompt.indexOf('>>', at) + 2)
  if (!after.systemPrompt.startsWith(stable)) problems.push('[P8] a message more changed the prompt before it')
  if (after.system !== before.system) problems.push('[P8] a message more changed the system text')
  const [old, grown] = [flat(before.messages), flat(after.messages)]
  if (!isDeepStrictEqual(old, grown.slice(0, old.length)))
    problems.push('[P8] a message more changed the messages before it')
  return problems
}

/** Every part with its role, without what stands behind the history: it may change. */
function flat(messages: readonly RequestMessage[]): string[] {
  const all = messages.flatMap(({ role, content }) => content.map(part => JSON.stringify([role, part])))
  all.pop()
  if (/^\["user",\{"type":"text","text":"# (State|Now|Earlier)/.test(all.at(-1) ?? '')) all.pop()
  return all
}

/** Tokens of a name beyond what every message has room for; longer names are cut. */
function nameRoom(author: string): number {
  return Math.max(0, Buffer.byteLength(author.slice(0, 60)) - 16)
}

/** [P5] A budget is too small only when what cannot be left out does not fit. */
export function checkRefusal({
  table,
  seat,
  step,
  error,
  checkpoint,
}: {
  table: RequestTable
  seat: Seat
  step: Ask
  error: BudgetTooSmall
  checkpoint: Checkpoint | undefined
}): string[] {
  const window = table.window(seat)
  // The strategies of TENEX always keep the first system message.
  const { strategy } = step
  const keepsSystem = strategy.name === 'sliding_window' || strategy.name === 'summarization'
  const system = keepsSystem ? window.find(one => one.message.role === 'system' && !one.message.internal) : undefined
  const fixed = new Set(
    [...window.filter(one => one.message.pinned), seat.kept, system].filter(one => one !== undefined),
  )
  const pinned = [...fixed].reduce(
    (sum, { message }) => sum + message.tokens.count + 40 + nameRoom(message.author) + 24 * message.parts.length,
    0,
  )
  // The name of the author is sent with the message to answer.
  const name = Math.max(0, ...window.map(({ message }) => nameRoom(message.author)))
  const least = largestDescription + (checkpoint ? checkpoint.tokens.checkpoint + 30 : 0) + pinned + leastMessage + name
  return least > step.budget
    ? []
    : [`[P5] refused (${error.message}) although ${least} tokens would do in ${step.budget}`]
}

/** Tokens of a description with its heading; and of the shortest form of a message, with the notice of an omission. */
const largestDescription = 250
const leastMessage = 190 + 2 * 100

function partsOf(messages: readonly RequestMessage[]): RequestPart[] {
  return messages.flatMap(message => message.content)
}

function timesIn(text: string, mark: string): number {
  return text.split(mark).length - 1
}
