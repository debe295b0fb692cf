/** Reads the provider's time to retry from its headers, or else from its message. */
export function retryHint(
  headers: Readonly<Record<string, string | undefined>>,
  message: string,
  now: () => number = Date.now,
): { retryAfterMs?: number } {
  const headerMs = milliseconds(headers['retry-after-ms']) ?? afterHeader(headers['retry-after'], now)
  const retryAfterMs = headerMs ?? inMessage(message)
  return retryAfterMs === undefined ? {} : { retryAfterMs: Math.max(0, Math.round(retryAfterMs)) }
}

/** Seconds, or a date. */
function afterHeader(value: string | undefined, now: () => number): number | undefined {
  const seconds = milliseconds(value)
  if (seconds !== undefined) return seconds * 1000
  const date = Date.parse(value ?? '')
  return Number.isNaN(date) ? undefined : date - now()
}

function milliseconds(value: string | undefined): number | undefined {
  return value !== undefined && /^\s*\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : undefined
}

/** "Please try again in 1.24s" */
function inMessage(message: string): number | undefined {
  const match = /(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) ?(ms|s|m)\b/i.exec(message)
  if (!match) return undefined
  return Number(match[1]) * { ms: 1, s: 1000, m: 60_000 }[match[2]!.toLowerCase() as 'ms' | 's' | 'm']
}
