/**
 * Findings as tables: on the terminal, and in `docs/benchmarks.md`.
 *
 * Each benchmark has its own place between two markers there. A run writes only the places of what it ran, and the prose
 * around them stays.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, type as system, totalmem } from 'node:os'
import { sqliteVersion } from '../baselines/bare.ts'
import { type Benchmark, type Finding, isMet } from './benchmark.ts'

export interface Result {
  benchmark: Benchmark
  findings: readonly Finding[]
  seconds: number
}

export interface Machine {
  cores: number
  cpu: string
  memoryGb: number
  system: string
  node: string
  sqlite: string
  /** ISO date. */
  date: string
}

export function thisMachine(): Machine {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${system()} ${process.arch}`,
    node: process.versions.node,
    sqlite: sqliteVersion(),
    date: new Date().toISOString().slice(0, 10),
  }
}

export function machineText(machine: Machine): string {
  const { cores, cpu, memoryGb, system, node, sqlite, date } = machine
  return `Measured on ${date}: ${cores} cores (${cpu}), ${memoryGb} GB, ${system}, Node ${node}, SQLite ${sqlite}.`
}

type Row = readonly string[]

/** Only the columns that some finding has. */
export function tableOf(findings: readonly Finding[]): { head: Row; rows: Row[] } {
  const columns: Array<[string, (finding: Finding) => string | undefined]> = [
    ['', one => one.what],
    ['Colloquy', one => one.ours],
    ['baseline', one => one.baseline],
    ['ratio', one => (one.ratio === undefined ? undefined : `${one.ratio.toFixed(2)}×`)],
    ['rounds', one => one.spread && `${one.spread[0].toFixed(2)}–${one.spread[1].toFixed(2)}`],
    ['target', targetText],
    ['met', metText],
    ['one JSON document', one => one.document],
  ]
  const used = columns.filter(([, cell]) => findings.some(one => cell(one)))
  return { head: used.map(([name]) => name), rows: findings.map(one => used.map(([, cell]) => cell(one) || '')) }
}

function targetText({ target, measured }: Finding): string | undefined {
  if (!target) return undefined
  const unit = measured === undefined ? '×' : ''
  if ('atMost' in target) return `≤ ${target.atMost}${unit}`
  if ('atLeast' in target) return measured === undefined ? `≥ ${target.atLeast}×` : `≥ ${target.atLeast} of fair`
  return String(target.exactly)
}

function metText(finding: Finding): string | undefined {
  const met = isMet(finding)
  return met === undefined ? undefined : met ? 'yes' : '**no**'
}

export function markdown({ head, rows }: { head: Row; rows: readonly Row[] }): string {
  const line = (cells: Row) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

export function plain({ head, rows }: { head: Row; rows: readonly Row[] }): string {
  const all = [head, ...rows].map(row => row.map(cell => cell.replaceAll('*', '')))
  const widths = head.map((_, column) => Math.max(...all.map(row => row[column]!.length)))
  return all.map(row => `  ${row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')}`.trimEnd()).join('\n')
}

export function writeReport(path: string, results: readonly Result[], machine: Machine): void {
  let text = existsSync(path) ? readFileSync(path, 'utf8') : introduction
  for (const { benchmark, findings } of results) {
    const { title, about, name } = benchmark
    // Under each table: the others may be of another day and another machine.
    const where = machineText(machine)
    text = place(text, name, `## ${title}\n\n${about}\n\n${markdown(tableOf(findings))}\n\n${where}`)
  }
  writeFileSync(path, text)
}

/** Puts a text between its markers; at the end, when it has none yet. */
export function place(text: string, name: string, content: string): string {
  const [start, end] = [`<!-- bench ${name} -->`, `<!-- /bench ${name} -->`]
  const block = `${start}\n${content}\n${end}`
  const from = text.indexOf(start)
  const to = text.indexOf(end, from)
  if (from < 0 || to < 0) return `${text.trimEnd()}\n\n${block}\n`
  return text.slice(0, from) + block + text.slice(to + end.length)
}

const introduction = `# Benchmarks

Written by \`npm run bench\`. Absolute times belong to the machine; the ratios are what counts. Each is taken against a
bare baseline in the same run.

- **Baseline.** A prepared \`insert\` (or \`select\`) with the same driver, the same WAL and \`synchronous = full\`, rows of
  the same bytes (our body's JSON and our hashes) and an index on (conversation, version). It checks nothing, counts
  nothing and hashes nothing.
- **Messages** are 400 bytes of seeded prose with file names and symbols in it, different in every message.
- **Noise.** Baseline and ours take turns in rounds (baseline, ours, baseline, ours …), with every history size in each
  round, after a warm-up round. A row shows the medians of the rounds and the median of the rounds' own ratios;
  "rounds" is the lowest and the highest of them. What is left for the full-text index is finished before the
  baseline's next turn. Run it on a machine that does nothing else: with all cores busy a sync waiter wakes one timer
  tick late.
- **Run it** with \`npm run bench\`, or one part: \`npm run bench -- append\` (also \`writers\`, \`processes\`, \`read\`,
  \`open\`, \`disk\`, \`search\`, \`requests\`, \`calibration\`, \`retention\`, \`loops\`, \`teams\`, \`postgres\`). \`--quick\` only shows that all of it runs; \`--json\` prints the figures for programs.
`
