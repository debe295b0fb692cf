/** Metrics as text that Prometheus reads. `prom-client` would be 2.6 MB for it: see docs/decisions/dependencies.md. */

type Labels = Readonly<Record<string, string>>

type Sample = readonly [labels: Labels, value: number]

/** Writes one metric: a single number, or a number for each set of labels. */
export function metric(
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  value: number | Iterable<Sample>,
): string {
  const samples: Iterable<Sample> = typeof value === 'number' ? [[{}, value]] : value
  return written(
    type,
    name,
    help,
    [...samples].map(([labels, number]) => `${name}${labelText(labels)} ${number}`),
  )
}

/** A number that grows, for each set of labels. */
export function counter(name: string, help: string) {
  const samples = new Map<string, [Labels, number]>()
  return {
    add(labels: Labels): void {
      const key = labelText(labels)
      const sample = samples.get(key)
      if (sample) sample[1]++
      else samples.set(key, [labels, 1])
    },
    text: () => metric('counter', name, help, samples.values()),
  }
}

const boundsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** A histogram of durations. */
export function durations(name: string, help: string) {
  const counts = [...boundsSeconds, Number.POSITIVE_INFINITY].map(() => 0)
  let sum = 0
  return {
    observe(seconds: number): void {
      const bound = boundsSeconds.findIndex(bound => seconds <= bound)
      counts[bound < 0 ? boundsSeconds.length : bound]!++
      sum += seconds
    },
    text(): string {
      let total = 0
      const buckets = [...boundsSeconds, '+Inf'].map((bound, at) => {
        total += counts[at]!
        return `${name}_bucket{le="${bound}"} ${total}`
      })
      return written('histogram', name, help, [...buckets, `${name}_sum ${sum}`, `${name}_count ${total}`])
    },
  }
}

function written(type: string, name: string, help: string, lines: readonly string[]): string {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
