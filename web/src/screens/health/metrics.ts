/** Parses the server's metrics from Prometheus text. Pure. */

export interface Sample {
  /** Milliseconds. */
  at: number
  /** Values by name and labels as in the text: `colloquy_events_total{type="message.added"}`. */
  values: ReadonlyMap<string, number>
}

export function parseMetrics(text: string, at: number): Sample {
  const values = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const space = line.lastIndexOf(' ')
    const value = Number(line.slice(space + 1))
    if (space > 0 && Number.isFinite(value)) values.set(line.slice(0, space), value)
  }
  return { at, values }
}

/** Sums a metric over all its labels, or over those that contain `has`. */
export function total({ values }: Sample, name: string, has = ''): number {
  let sum = 0
  for (const [key, value] of values) {
    if ((key === name || key.startsWith(`${name}{`)) && key.includes(has)) sum += value
  }
  return sum
}

/** Returns the values of a metric by one of its labels. */
export function byLabel({ values }: Sample, name: string, label: string): Map<string, number> {
  const found = new Map<string, number>()
  for (const [key, value] of values) {
    if (!key.startsWith(`${name}{`)) continue
    const [, text] = new RegExp(`[{,]${label}="((?:[^"\\\\]|\\\\.)*)"`).exec(key) ?? []
    if (text !== undefined) {
      const plain = text.replace(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one))
      found.set(plain, (found.get(plain) ?? 0) + value)
    }
  }
  return found
}

/** Rate per second between two samples; undefined when the server restarted between them. */
export function rate(before: Sample, after: Sample, name: string, has = ''): number | undefined {
  const more = total(after, name, has) - total(before, name, has)
  const seconds = (after.at - before.at) / 1000
  return more < 0 || seconds <= 0 ? undefined : more / seconds
}

/**
 * Upper bound, in milliseconds, of the histogram bucket that holds a quantile: between two samples, or since the start.
 * Undefined without observations.
 */
export function quantile(name: string, share: number, after: Sample, before?: Sample): number | undefined {
  const count = (bound: string) => {
    const key = `${name}_bucket{le="${bound}"}`
    return (after.values.get(key) ?? 0) - (before?.values.get(key) ?? 0)
  }
  const all = count('+Inf')
  if (!(all > 0)) return undefined
  const bounds = [...after.values.keys()].flatMap(key => {
    const [, bound] = key.startsWith(`${name}_bucket{`) ? (/le="([\d.]+)"/.exec(key) ?? []) : []
    return bound === undefined ? [] : [bound]
  })
  bounds.sort((a, b) => Number(a) - Number(b))
  const found = bounds.find(bound => count(bound) >= all * share)
  return found === undefined ? Number.POSITIVE_INFINITY : Number(found) * 1000
}
