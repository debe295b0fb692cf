/** Compiles the shim and says how a child is put behind it. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('shim.c', import.meta.url))

/** Why there is no shim here, or undefined where there can be one. It needs Linux and a C compiler. */
export const noShim: string | undefined =
  process.platform !== 'linux'
    ? `LD_PRELOAD works on Linux, this is ${process.platform}`
    : spawnSync('cc', ['--version']).status === 0
      ? undefined
      : 'there is no C compiler (cc)'

/** Compiles the shim into a folder and gives its path. */
export function compileShim(folder: string): string {
  const library = join(folder, 'shim.so')
  const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl', '-lpthread'], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`cc could not compile the shim: ${stderr}`)
  return library
}

/** A failure of a system call. */
export interface Fault {
  /** Every how many writes one fails. */
  write?: number
  /** Every how many syncs one fails. */
  sync?: number
  error: 'EIO' | 'ENOSPC'
  /** The failing write first writes half of its bytes. */
  short?: boolean
  /** Only on files whose path contains this. */
  only?: string
  /** From the start, so that opening the store fails too; else from when the child asks for it. */
  fromStart?: boolean
}

const errorNumbers = { EIO: 5, ENOSPC: 28 }

export function shimEnvironment(
  library: string,
  watch: { path: string; trace?: string },
  fault?: Fault,
): NodeJS.ProcessEnv {
  return {
    LD_PRELOAD: library,
    SHIM_PATH: watch.path,
    ...(watch.trace !== undefined && { SHIM_TRACE: watch.trace }),
    ...(fault && {
      SHIM_WRITE: String(fault.write ?? 0),
      SHIM_SYNC: String(fault.sync ?? 0),
      SHIM_ERRNO: String(errorNumbers[fault.error]),
      SHIM_SHORT: fault.short ? '1' : '0',
      SHIM_ARMED: fault.fromStart ? '1' : '0',
      ...(fault.only !== undefined && { SHIM_ONLY: fault.only }),
    }),
  }
}

export function faultText({ write, sync, error, short, only, fromStart }: Fault): string {
  return [
    write && `every ${write}. write`,
    sync && `every ${sync}. sync`,
    only && `of ${only}`,
    `fails with ${error}`,
    short && 'after half of its bytes',
    fromStart && 'from the opening on',
  ]
    .filter(Boolean)
    .join(' ')
}
