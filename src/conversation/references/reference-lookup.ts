/**
 * Asks resolvers for the content of one reference, in time and within bounds. Whatever they do, this gives a text or a
 * reason.
 */

import type { Reference } from '../../log/events/reference.ts'
import { referenceText } from '../../request/assembly/references.ts'
import type { ReferenceResolver, Resolved } from '../../request/context/resolver.ts'
import { oneLine } from '../../request/text/quote-untrusted.ts'
import type { TokenEstimator } from '../../request/text/tokens.ts'
import { trimText } from '../../request/text/trim.ts'
import { timerMs } from '../../timers.ts'

type LookedUp = { text: string; source: string } | { reason: string }

interface LookUpInput {
  reference: Reference
  /** Version of the message that refers to it. */
  of: number
  project: string
  conversationId: string
  /** Those of its kind, in the order they are asked. */
  resolvers: readonly ReferenceResolver[]
  timeoutMs: number
  maxTokens: number
  estimator: TokenEstimator
}

export async function lookUp(input: LookUpInput): Promise<LookedUp> {
  const { reference, of, timeoutMs } = input
  const controller = new AbortController()
  const late = new Promise<LookedUp>(resolve => {
    controller.signal.onabort = () => resolve({ reason: `no answer within ${timeoutMs} ms` })
  })
  const timer = setTimeout(() => controller.abort(), timerMs(timeoutMs))
  try {
    return await Promise.race([asked(), late])
  } finally {
    clearTimeout(timer)
  }

  async function asked(): Promise<LookedUp> {
    const { resolvers, project, conversationId } = input
    let reason = 'it was not found'
    for (const resolver of resolvers) {
      try {
        const found = await resolver.resolve({ ...reference }, { project, conversationId, signal: controller.signal })
        if (found === undefined) continue
        if (typeof found.text !== 'string' || typeof found.source !== 'string') reason = 'its resolver gave no text'
        else if (found.text.trim() === '') reason = 'it is empty'
        else return { text: inlined(found), source: oneLine(found.source, longestName) }
      } catch (error) {
        reason = oneLine(error instanceof Error ? error.message : String(error), longestName)
      }
    }
    return { reason }
  }

  function inlined({ text, source, title }: Resolved): string {
    const name = typeof title === 'string' ? `: ${oneLine(title, longestName)}` : ''
    const told = oneLine(referenceText(reference), longestName)
    return `${told}, referred to in message ${of}, from ${oneLine(source, longestName)}${name}\n\n${bounded(text)}`
  }

  function bounded(text: string): string {
    const { maxTokens, estimator } = input
    // Cut first, because counting the tokens of a text of any length is slow.
    const most = maxTokens * charactersPerToken
    const rest = text.length - most
    const beginning = rest > 0 ? `${text.slice(0, most)}\n[… ${rest} characters left out …]` : text
    const whole = beginning.toWellFormed()
    return trimText(whole, {
      to: maxTokens,
      tokens: estimator.count(whole),
      estimator,
      how: 'look at the source for all of it',
    }).text
  }
}

const longestName = 200
const charactersPerToken = 20
