/** From a session and a message to a packed request: what is gathered, inside which budget, with which quotes. */
import { withoutUndefined } from '../../log/commands/omit-undefined.ts'
import type { RequestBuilt, UsageKnown } from '../../log/events/request.ts'
import type { SessionHead } from '../../log/views/session.ts'
import { requestBudget } from '../../request/assembly/budget.ts'
import type { Ledger } from '../../request/assembly/ledger.ts'
import { type Packed, type PackOptions, pack } from '../../request/assembly/pack.ts'
import { oldestVersion } from '../../request/assembly/reference-contents.ts'
import { expectedUsage, goesOn, type UsageInput, usageKnown } from '../../request/assembly/usage-calibration.ts'
import { type KnownLimits, modelLimits } from '../../request/model-limits.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import type { PastHeads } from '../access/heads-at.ts'
import type { SessionAccess } from '../access/session-access.ts'
import type { Gathered, materialGatherer } from './request-input.ts'
import { type EffectiveSettings, type RequestOptions, type RequestSettings, settingsFor } from './request-settings.ts'

/** What a request is for: a text, or a stored message. */
export type Asked = string | { messageId: string }

/** What a caller asks for, and what the view around it has to say. */
export interface PackingOptions extends RequestOptions {
  /** References that could not be resolved, a line each. */
  unresolved?: readonly string[]
}

export interface PackedRequest {
  head: SessionHead
  settings: EffectiveSettings
  packed: Packed
  gathered: Gathered
  /** Nothing after this version was looked at. */
  asOf: number | undefined
  budget: number
  ledger: Ledger
  /** The larger of our measure and of what the provider is expected to count. */
  size: number
  /** What goes into the manifest, for the next request to go on from. */
  usage: Pick<RequestBuilt, 'counted' | 'calibrated' | 'model' | 'continues' | 'calibration'>
}

export interface RequestPacking {
  /** `mayOmit` false keeps the checkpoint strategy from leaving anything out before its latch. */
  pack(
    head: SessionHead,
    message: Asked,
    options: PackingOptions,
    mayOmit: boolean,
    /** How things stood, if not as they do now. */
    then?: PastHeads,
  ): Promise<PackedRequest>
}

/** Each round sets aside what the one before was over; it seldom takes a second. */
const mostRounds = 12

export function requestPacking({
  access,
  project,
  estimator,
  material,
}: {
  access: SessionAccess
  project: RequestSettings
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  material: ReturnType<typeof materialGatherer>
}): RequestPacking {
  /** The last request's manifest, read only where there is something to learn from or to go on from. */
  async function lastRequest(head: SessionHead, gathered: Gathered): Promise<UsageInput['last']> {
    const { lastRequest: last } = head
    if (!last) return undefined
    const isWorthIt = last.calibrated !== undefined || gathered.messages.some(message => message.usage)
    const manifest = isWorthIt ? await access.eventAt(head, last.version, 'request.built') : undefined
    return manifest && { version: last.version, manifest }
  }

  /** Only what is not in the request can be worth quoting; so it is packed once to see what that is. */
  async function withRecall(
    packed: Packed,
    gathered: Gathered,
    { recall }: EffectiveSettings,
  ): Promise<Gathered['material']> {
    const isPartial = packed.omitted.messages > 0 || packed.checkpoint !== undefined
    if (!recall || !isPartial || packed.overflows) return gathered.material
    const first = oldestVersion(packed.history) ?? packed.trigger.version
    return { ...gathered.material, recall: await gathered.recallBefore(first ?? Number.MAX_SAFE_INTEGER) }
  }

  return {
    async pack(head, message, options, mayOmit, then) {
      const { asOf, unresolved, reserve = 0 } = options
      const settings = settingsFor(project, head, options)
      const { strategy } = settings
      const { budget: whole, limits } = budgetOf(settings)
      const budget = Math.max(0, whole - reserve)
      const gathered = await material.gather({
        head,
        trigger: message,
        strategy,
        budget,
        ...(asOf !== undefined && { end: asOf }),
        ...(then && { then }),
        ...(unresolved && { unresolved }),
      })
      const packing: PackOptions = {
        budget,
        estimator: await estimator(),
        mayOmit: mayOmit || strategy.name !== 'checkpoint' || head.latched === true,
        ...(strategy.name === 'recent' && { maxMessages: strategy.messages }),
      }
      const model = settings.model ?? ''
      const last = await lastRequest(head, gathered)
      const known = usageKnown({
        model,
        last,
        messages: gathered.messages,
        isAnswer: ({ author, sessionId }) => author === head.agentName && sessionId === head.id,
      })
      const foresee = (packed: Packed) => {
        const at = { description: head.describedAt, context: head.contextAt, checkpoint: head.checkpoint?.version }
        const continues = goesOn(packed, known, { last, head: withoutUndefined(at) })
        return { continues, calibrated: expectedUsage(packed, known, { model, continues, last }) }
      }
      const first = pack(gathered.material, packing)
      const found = await withRecall(first, gathered, settings)
      let packed = found === gathered.material ? first : pack(found, packing)
      let foreseen = foresee(packed)
      for (let round = 0, aside = 0; round < mostRounds; round++) {
        if (foreseen.calibrated <= budget || packed.overflows) break
        aside += foreseen.calibrated - budget
        packed = pack(found, { ...packing, reserve: aside })
        foreseen = foresee(packed)
      }
      const size = Math.max(packed.tokens, foreseen.calibrated)
      return {
        head,
        settings,
        packed,
        gathered,
        asOf,
        budget,
        size,
        ledger: ledgerOf(packed, { settings, limits, size, ...foreseen }),
        usage: usageOf(packed, settings.model, known, foreseen),
      }
    },
  }
}

export function budgetOf(settings: RequestSettings): { budget: number; limits: KnownLimits } {
  const limits = modelLimits(settings.model ?? '', settings.models)
  const { contextWindow, outputLimit, inputLimit } = limits
  const budget = requestBudget({
    configured: settings.budget,
    contextWindow,
    outputReserve: Math.min(settings.outputReserve, outputLimit),
    buffer: settings.buffer,
    inputLimit,
    // Seed 003 keeps a fifth of the model's limit free.
    windowShare: settings.strategy.name === 'sliding_window' ? 0.8 : 1,
  })
  return { budget, limits }
}

function ledgerOf(
  packed: Packed,
  {
    settings,
    limits: { known, ...limits },
    size,
    calibrated,
    continues,
  }: { settings: EffectiveSettings; limits: KnownLimits; size: number; calibrated: number; continues: boolean },
): Ledger {
  const { model: name, set, warn } = settings
  const { budget, used } = packed.ledger
  const notes: string[] = []
  const window = limits.contextWindow.toLocaleString('en')
  if (name === undefined) notes.push(`no model is named: a window of ${window} tokens is assumed`)
  else if (!known) notes.push(`${name} is in no table of models: a window of ${window} tokens is assumed`)
  if (calibrated > packed.tokens) {
    const more = (calibrated - packed.tokens).toLocaleString('en')
    notes.push(`the provider counts about ${more} tokens more than we do, which are set aside`)
  }
  if (size > budget * warn) notes.push(`past ${Math.round(warn * 100)} % of the budget`)
  return {
    budget,
    used,
    free: Math.max(0, budget - size),
    get entries() {
      return packed.ledger.entries
    },
    calibrated,
    isMeasured: continues,
    model: { name, known, ...limits },
    set,
    notes,
  }
}

function usageOf(
  { counted }: Packed,
  model: string | undefined,
  calibration: UsageKnown | undefined,
  { continues, calibrated }: { continues: boolean; calibrated: number },
): PackedRequest['usage'] {
  return {
    counted,
    calibrated,
    ...(model !== undefined && { model }),
    ...(continues && { continues }),
    ...(calibration && { calibration }),
  }
}
