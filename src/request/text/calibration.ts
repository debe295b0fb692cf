/**
 * Estimates a provider's count of a request from its counts of earlier ones.
 *
 * No tokenizer here is the provider's own, and a provider adds text that we never see (tools, its own preamble). So
 * a request that continues an earlier one is sized from that one's real usage plus our count of what came after,
 * scaled by the model's ratio between its counts and ours. Only the new part is guessed; errors do not add up.
 *
 * The state is plain JSON and never changed in place. It holds for one estimator, because another counts differently.
 */

export interface Calibration {
  readonly [model: string]: ModelCalibration
}

interface ModelCalibration {
  /** Our counts and the provider's for the same texts, summed, older ones fading. Their quotient is the ratio. */
  readonly estimated: number
  readonly actual: number
  /** A request measured as a whole: what it took beyond our count is what the provider adds to every request. */
  readonly whole: Measured
}

/** One text counted twice: by our estimator, and by the provider. */
export interface Measured {
  readonly estimated: number
  readonly actual: number
}

interface UsageSample extends Measured {
  readonly model: string
  /**
   * The call that this request continues, as the provider has it: its request and its answer, without reasoning that
   * is not sent back. Left out when the request does not continue one (the first, or after a compaction).
   */
  readonly previous?: Measured
}

interface EstimateInput {
  readonly model: string
  /** Our count of the whole request. */
  readonly estimated: number
  /** As in {@link UsageSample}; the same model counted it. */
  readonly previous?: Measured
}

/**
 * The ratio before anything is known. It counts like this many tokens seen, so that the first short messages, which
 * are mostly overhead, do not decide it.
 *
 * Claude is known to count more than o200k does (1.26 in a session with Sonnet 4, 1.29 in one with Opus 4.5), so it
 * starts higher; of the others nothing is assumed.
 */
function startingPoint(model: string): Measured {
  const estimated = 500
  return { estimated, actual: /claude/i.test(model) ? estimated * 1.2 : estimated }
}

/** Older samples fade once this many tokens have been seen: the kind of text changes during a session. */
const rememberedTokens = 50_000

/** Ratios outside do not come from a tokenizer, but from an image, a changed tool list or a wrong `previous`. */
const plausibleRatio = { from: 0.5, to: 2.5 }

/** Takes in what a provider counted for a request. */
export function calibrate(state: Calibration, sample: UsageSample): Calibration {
  const { model, previous, estimated, actual } = sample
  if (!(actual > 0 && estimated >= 0)) return state
  const before = known(state, model) ?? { ...startingPoint(model), whole: { estimated, actual } }
  const after = previous
    ? learn(before, { estimated: estimated - previous.estimated, actual: actual - previous.actual })
    : { ...before, whole: { estimated, actual } }
  return { ...state, [model]: after }
}

/**
 * Returns the provider's expected count of a request. Before the first calibrated call: our own count by the starting
 * ratio.
 */
export function estimateWith(state: Calibration, { model, estimated, previous }: EstimateInput): number {
  const ratio = ratioOf(state, model)
  const tokens = previous
    ? previous.actual + ratio * (estimated - previous.estimated)
    : addedByProvider(state, model) + ratio * estimated
  return Math.max(0, Math.round(tokens))
}

/** The provider's tokens for one of ours. */
export function ratioOf(state: Calibration, model: string): number {
  const { estimated, actual } = known(state, model) ?? startingPoint(model)
  return actual / estimated
}

/** Tokens that the provider adds to every request of this model, such as tools or a preamble. */
function addedByProvider(state: Calibration, model: string): number {
  const whole = known(state, model)?.whole
  return whole ? Math.max(0, whole.actual - ratioOf(state, model) * whole.estimated) : 0
}

function learn(before: ModelCalibration, { estimated, actual }: Measured): ModelCalibration {
  const ratio = actual / estimated
  if (!(estimated > 0 && ratio >= plausibleRatio.from && ratio <= plausibleRatio.to)) return before
  const sum = { estimated: before.estimated + estimated, actual: before.actual + actual }
  const fade = Math.min(1, rememberedTokens / sum.estimated)
  return { ...before, estimated: sum.estimated * fade, actual: sum.actual * fade }
}

function known(state: Calibration, model: string): ModelCalibration | undefined {
  return Object.hasOwn(state, model) ? state[model] : undefined
}
