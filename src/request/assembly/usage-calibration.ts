/**
 * A session's own calibration: learns from the provider's counts of earlier requests, and estimates its count of the
 * next one.
 *
 * A request that continues a counted one: the provider's last count, plus our count of what was added since, times the
 * model's ratio. Any other request: our count of the whole, times that ratio, plus what the provider adds to every
 * request. The state is in the manifest of each request, so it is the same in every process and needs no search.
 */
import type { Usage } from '../../log/events/message.ts'
import type { RequestBuilt, UsageKnown } from '../../log/events/request.ts'
import type { Message } from '../../log/views/message.ts'
import { type Calibration, calibrate, estimateWith } from '../text/calibration.ts'
import type { Packed } from './pack.ts'

export interface UsageInput {
  model: string
  /** The manifest of the session's last request, and where it stands. */
  last: { version: number; manifest: RequestBuilt } | undefined
  /** The messages of the window, oldest first. */
  messages: readonly Message[]
  /** True for an answer to a request of this session. */
  isAnswer(message: Message): boolean
}

/** Takes in what was reported since the last request was built. Undefined as long as nothing is known of this model. */
export function usageKnown({ model, last, messages, isAnswer }: UsageInput): UsageKnown | undefined {
  if (!last) return undefined
  const { manifest, version } = last
  if ((manifest.model ?? '') !== model || !manifest.counted) return undefined
  let known = manifest.calibration
  // Only the first answer may belong to a request without a counted predecessor. Later ones continue it.
  let continues = manifest.continues === true && known !== undefined
  for (const answer of messages) {
    if (!answer.usage || answer.version <= version || !isAnswer(answer)) continue
    const actual = requestSize(answer.usage)
    if (actual === 0) continue
    const between = (from: number) => countedBetween(messages, from, answer.version)
    const sample =
      continues && known
        ? onTopOf(known.last.tokens, between(known.last.version), actual)
        : { estimated: manifest.counted.all + between(version) - storedLater(manifest, messages, version), actual }
    known = knownAfter(known, model, sample, answer)
    continues = true
  }
  return known
}

/** True if a request continues the last counted one: the same beginning, and more behind it. */
export function goesOn(
  packed: Packed,
  known: UsageKnown | undefined,
  { last, head }: { last: UsageInput['last']; head: Pick<RequestBuilt, 'description' | 'context' | 'checkpoint'> },
): boolean {
  if (!known || !last) return false
  const { manifest, version } = last
  if (known.last.version <= version && !manifest.continues) return false
  const before = manifest.kept?.from ?? manifest.trigger
  const now = packed.history[0]?.version
  return (
    manifest.description === head.description &&
    manifest.context === head.context &&
    manifest.checkpoint === (packed.checkpoint && head.checkpoint) &&
    (manifest.pinned?.length ?? 0) === packed.pinned.length &&
    manifest.omitted === packed.omitted.messages &&
    // If the last request had no history, its message was stored afterwards, and this one begins with it.
    (before === undefined || before === now)
  )
}

/** Returns the provider's expected count of a packed request. */
export function expectedUsage(
  packed: Packed,
  known: UsageKnown | undefined,
  { model, continues, last }: { model: string; continues: boolean; last: UsageInput['last'] },
): number {
  const state: Calibration = known ? { [model]: known } : {}
  const { all, behindHistory } = packed.counted
  if (!known || !continues) return Math.ceil(estimateWith(state, { model, estimated: all }))
  const { version, tokens } = known.last
  let after = 0
  for (const message of packed.history) if (message.version > version) after += message.tokens.count
  if (packed.trigger.version === undefined || packed.trigger.version > version) after += packed.trigger.tokens
  // The sections behind the history were replaced since.
  after += Math.max(0, behindHistory - (last?.manifest.counted?.behindHistory ?? 0))
  const previous = { estimated: all - after, actual: tokens }
  return Math.ceil(estimateWith(state, { model, estimated: all, previous }))
}

/** Tokens of the whole request, wherever the provider took them from. */
function requestSize({ input, cacheRead = 0, cacheWrite = 0 }: Usage): number {
  return input + cacheRead + cacheWrite
}

function onTopOf(tokens: number, added: number, actual: number) {
  return { estimated: added, actual, previous: { estimated: 0, actual: tokens } }
}

function knownAfter(
  before: UsageKnown | undefined,
  model: string,
  sample: { estimated: number; actual: number; previous?: { estimated: number; actual: number } },
  { version, usage }: Message,
): UsageKnown {
  const { [model]: learned } = calibrate(before ? { [model]: before } : {}, { model, ...sample })
  const { estimated, actual, whole } = learned!
  // Reasoning is not sent back.
  const answer = usage!.output - Math.min(usage!.output, usage!.reasoning ?? 0)
  return { model, estimated, actual, whole, last: { version, tokens: sample.actual + answer } }
}

function countedBetween(messages: readonly Message[], from: number, to: number): number {
  let sum = 0
  for (const { version, tokens } of messages) if (version > from && version < to) sum += tokens.count
  return sum
}

/** Tokens of a trigger that was stored as a message only after its request: the manifest's count has them already. */
function storedLater({ trigger }: RequestBuilt, messages: readonly Message[], version: number): number {
  if (trigger !== undefined) return 0
  return messages.find(message => message.version > version && message.role === 'user')?.tokens.count ?? 0
}
