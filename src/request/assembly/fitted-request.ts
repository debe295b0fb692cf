/**
 * The third stage of a request: its sections packed into the budget, with room for what the provider counts beyond our
 * own measure. Pure.
 */
import type { RequestBuilt, UsageKnown } from '../../log/events/request.ts'
import type { TokenEstimator } from '../text/tokens.ts'
import type { RequestInputs } from './inputs.ts'
import type { Ledger } from './ledger.ts'
import { type Packed, pack } from './pack.ts'
import { oldestVersion } from './reference-contents.ts'
import type { RenderedRequest } from './rendered-sections.ts'
import { expectedUsage, goesOn, usageKnown } from './usage-calibration.ts'

export interface FittedRequest extends RenderedRequest {
  packed: Packed
  ledger: Ledger
  /** The larger of our measure and the count that the provider is expected to report. */
  size: number
  /** The part of the manifest that the next request's estimate continues from. */
  usage: Pick<RequestBuilt, 'counted' | 'calibrated' | 'model' | 'continues' | 'calibration'>
}

interface Forecast {
  /** The request continues one that the provider has counted. */
  continues: boolean
  /** The provider's expected count. */
  calibrated: number
}

/** Each round reserves the excess of the round before. More than two rounds are rare. */
const maxRounds = 12

/**
 * Packs the sections. Without `mayOmit`, a request of the checkpoint strategy that is too large reports that it overflows
 * and leaves no messages out, unless the session is latched.
 */
export function fitRequest(
  rendered: RenderedRequest,
  { estimator, mayOmit }: { estimator: TokenEstimator; mayOmit: boolean },
): FittedRequest {
  const { inputs, sections } = rendered
  const { budget, settings, session } = inputs
  const { strategy } = settings
  const calibration = learnedUsage(rendered)
  const packWith = (reserve: number) => {
    const packed = pack(sections, {
      budget,
      reserve,
      estimator,
      mayOmit: mayOmit || strategy.name !== 'checkpoint' || session.latched === true,
      ...(strategy.name === 'recent' && { maxMessages: strategy.messages }),
    })
    return { packed, forecast: forecastOf(packed, inputs, calibration) }
  }
  let { packed, forecast } = packWith(0)
  for (let round = 0, reserve = 0; round < maxRounds; round++) {
    if (forecast.calibrated <= budget || packed.overflows) break
    reserve += forecast.calibrated - budget
    ;({ packed, forecast } = packWith(reserve))
  }
  const size = Math.max(packed.tokens, forecast.calibrated)
  return {
    ...rendered,
    packed,
    size,
    ledger: ledgerOf(packed, inputs, { ...forecast, size }),
    usage: usageOf(packed, settings.model, calibration, forecast),
  }
}

/**
 * Returns the version before which recall may quote messages: of what is older, the request holds nothing word for word.
 * Undefined where it leaves nothing out.
 */
export function oldestKept({ packed }: FittedRequest): number | undefined {
  const isPartial = packed.omitted.messages > 0 || packed.checkpoint !== undefined
  if (!isPartial || packed.overflows) return undefined
  return oldestVersion(packed.history) ?? packed.trigger.version ?? Number.MAX_SAFE_INTEGER
}

/** The way of counting that the provider's reports since the last request show. */
function learnedUsage({ inputs, messages }: RenderedRequest): UsageKnown | undefined {
  const { session, settings, lastRequest } = inputs
  return usageKnown({
    model: settings.model ?? '',
    last: lastRequest,
    messages,
    isAnswer: ({ author, sessionId }) => author === session.agentName && sessionId === session.id,
  })
}

function forecastOf(
  packed: Packed,
  { session, settings, lastRequest: last }: RequestInputs,
  calibration: UsageKnown | undefined,
): Forecast {
  const head = { description: session.describedAt, context: session.contextAt, checkpoint: session.checkpoint?.version }
  const continues = goesOn(packed, calibration, { last, head })
  return { continues, calibrated: expectedUsage(packed, calibration, { model: settings.model ?? '', continues, last }) }
}

function ledgerOf(
  packed: Packed,
  { settings: { model: name, set, warn }, limits: { known, ...limits } }: RequestInputs,
  { calibrated, continues, size }: Forecast & { size: number },
): Ledger {
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
  { continues, calibrated }: Forecast,
): FittedRequest['usage'] {
  return {
    counted,
    calibrated,
    ...(model !== undefined && { model }),
    ...(continues && { continues }),
    ...(calibration && { calibration }),
  }
}
