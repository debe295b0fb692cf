/** `npm run bench -- [append|writers|processes|read|open|disk|search|requests|turns|calibration|retention|loops|teams|postgres|server|web|all] [--quick] [--json]` */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { benchmarks } from './benchmarks.ts'
import { isMet } from './support/benchmark.ts'
import { removeLargeStore } from './support/large-store.ts'
import { machineText, plain, type Result, tableOf, thisMachine, writeReport } from './support/report.ts'
import { fullSizes, quickSizes } from './support/sizes.ts'

const names = benchmarks.map(({ name }) => name)
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const unknown = positionals.filter(name => name !== 'all' && !names.includes(name))
if (values.help || unknown.length > 0) {
  console.log(`npm run bench -- [${[...names, 'all'].join('|')}] [--quick] [--json]`)
  process.exit(unknown.length > 0 ? 2 : 0)
}

const chosenBenchmarks = benchmarks.filter(
  ({ name }) => positionals.length === 0 || positionals.includes('all') || positionals.includes(name),
)
const machine = thisMachine()
const results: Result[] = []
const print = (text: string) => values.json || console.log(text)
print(machineText(machine))
try {
  for (const benchmark of chosenBenchmarks) {
    print(`\n${benchmark.title}`)
    const start = performance.now()
    const findings = await benchmark.run(values.quick ? quickSizes : fullSizes, tell)
    const result = { benchmark, findings, seconds: (performance.now() - start) / 1000 }
    results.push(result)
    tell('')
    print(plain(tableOf(findings)))
    print(`  ${result.seconds.toFixed(0)} s`)
  }
} finally {
  await removeLargeStore()
}

if (values.json) {
  const found = results.map(({ benchmark: { name, title }, findings, seconds }) => ({
    name,
    title,
    seconds,
    findings: findings.map(one => ({ ...one, met: isMet(one) })),
  }))
  console.log(JSON.stringify({ machine, results: found }, null, 2))
}
// A quick run proves that everything works; its figures mean nothing and are not kept.
if (!values.quick) {
  const path = join(fileURLToPath(new URL('..', import.meta.url)), 'docs', 'benchmarks.md')
  writeReport(path, results, machine)
  print(`\nWritten to ${path}.`)
}

/** Prints progress on one line that is overwritten; only on a terminal. */
function tell(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text && `  ${text} …`}`)
}
