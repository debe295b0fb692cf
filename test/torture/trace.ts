/**
 * The record of the shim: every write, truncation and sync in order. It proves two things about power loss: a sync
 * comes before every acknowledgement, and the files after a power loss hold everything acknowledged.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Random } from './random.ts'

export interface TraceEntry {
  kind: 'write' | 'sync' | 'truncate'
  /** Undefined when it succeeded. */
  error: number | undefined
  path: string
  /** Offset of the written bytes; the new size for a truncation. */
  at: number
  data: Buffer
}

const kinds = ['', 'write', 'sync', 'truncate'] as const
const headBytes = 24

export function readTrace(file: string): TraceEntry[] {
  const bytes = readFileSync(file)
  const entries: TraceEntry[] = []
  for (let at = 0; at < bytes.length; ) {
    const kind = kinds[bytes.readUInt32LE(at)] as TraceEntry['kind']
    const error = bytes.readUInt32LE(at + 4) || undefined
    const [dataBytes, pathBytes] = [bytes.readUInt32LE(at + 16), bytes.readUInt32LE(at + 20)]
    const pathAt = at + headBytes
    const dataAt = pathAt + pathBytes
    entries.push({
      kind,
      error,
      path: bytes.toString('utf8', pathAt, dataAt),
      at: Number(bytes.readBigUInt64LE(at + 8)),
      data: bytes.subarray(dataAt, dataAt + dataBytes),
    })
    at = dataAt + dataBytes
  }
  return entries
}

/** Acknowledgements are lines in a file named `acks` in the folder of the store. */
export function acknowledgements(trace: readonly TraceEntry[]): Array<{ index: number; name: string }> {
  return trace.flatMap((entry, index) =>
    entry.kind === 'write' && basename(entry.path) === 'acks' ? [{ index, name: entry.data.toString().trim() }] : [],
  )
}

/** Acknowledgements that came while bytes of the write-ahead log were written but not synced. */
export function unsyncedAppends(trace: readonly TraceEntry[]): string[] {
  let dirty = 0
  const problems: string[] = []
  for (const entry of trace) {
    const name = basename(entry.path)
    if (name === 'acks') {
      if (dirty > 0)
        problems.push(`${entry.data.toString().trim()}: ${dirty} writes of the write-ahead log are not synced`)
    } else if (name.endsWith('.db-wal')) {
      if (entry.kind === 'sync' && entry.error === undefined) dirty = 0
      else if (entry.kind === 'write') dirty++
    }
  }
  return problems
}

/** Counts the successful syncs of the write-ahead log. */
export function walSyncs(trace: readonly TraceEntry[]): number {
  return trace.filter(one => one.kind === 'sync' && one.error === undefined && one.path.endsWith('.db-wal')).length
}

const sector = 512

/**
 * Writes the files as a power loss right after entry `index` may leave them: what was synced is there; of what was not,
 * each sector is there or not. A file whose folder was not synced since it appeared is gone.
 */
export function powerLossImage(
  trace: readonly TraceEntry[],
  { index, to, choose }: { index: number; to: string; choose: Random },
): void {
  const past = trace.slice(0, index + 1)
  const paths = [...new Set(past.map(one => one.path))].filter(path => /\.db(-wal)?$/.test(path))
  for (const path of paths) {
    const entriesOfPath = past.filter(one => one.path === path)
    const born = past.indexOf(entriesOfPath[0]!)
    const folderSynced = past.some(
      (one, at) => at > born && one.kind === 'sync' && !one.error && one.path === dirname(path),
    )
    if (!folderSynced) continue
    const lastSync = entriesOfPath.findLastIndex(one => one.kind === 'sync' && one.error === undefined)
    const image = new Image()
    for (const [at, entry] of entriesOfPath.entries()) {
      if (entry.kind === 'truncate' && !entry.error) {
        if (at < lastSync || choose.below(2) === 0) image.truncate(entry.at)
      } else if (entry.kind === 'write') {
        if (at < lastSync) image.write(entry.at, entry.data)
        else image.writeSome(entry.at, entry.data, choose)
      }
    }
    writeFileSync(join(to, basename(path)), image.bytes())
  }
}

class Image {
  #bytes = Buffer.alloc(1 << 20)
  #size = 0

  write(at: number, data: Buffer): void {
    const end = at + data.length
    if (end > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(end, this.#bytes.length * 2))
      this.#bytes.copy(larger)
      this.#bytes = larger
    }
    data.copy(this.#bytes, at)
    this.#size = Math.max(this.#size, end)
  }

  writeSome(at: number, data: Buffer, choose: Random): void {
    for (let start = 0; start < data.length; start += sector) {
      if (choose.below(2) === 0) this.write(at + start, data.subarray(start, start + sector))
    }
  }

  truncate(size: number): void {
    this.#bytes.fill(0, Math.min(size, this.#size))
    this.#size = size
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size)
  }
}
