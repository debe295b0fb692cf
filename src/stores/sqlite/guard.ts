/** Refuses calls to a store that is closed, or writes to one that is read-only; turns what fails into our errors. */
import { StoreClosed, StoreReadOnly } from '../../errors.ts'
import type { Access } from './access.ts'
import { whenFree } from './busy.ts'
import { asStoreError } from './errors.ts'
import type { HeadStore } from './heads.ts'
import type { Writer } from './write/writer.ts'

export class Guard implements Access {
  readonly #input: { path: string; readOnly: boolean; busyTimeoutMs: number; heads: HeadStore; writer: Writer }
  #isClosed = false

  constructor(input: { path: string; readOnly: boolean; busyTimeoutMs: number; heads: HeadStore; writer: Writer }) {
    this.#input = input
  }

  close(): void {
    this.#isClosed = true
  }

  refuseClosed(): void {
    if (this.#isClosed) throw new StoreClosed()
  }

  refuseUnwritable(): void {
    this.refuseClosed()
    const { path, readOnly } = this.#input
    if (readOnly) throw new StoreReadOnly(`${path} was opened for reading only. Nothing was written.`, { path })
  }

  reading = async <T>(read: () => T): Promise<T> => {
    this.refuseClosed()
    const { path, busyTimeoutMs, heads } = this.#input
    const attempt = () => {
      heads.refresh()
      return read()
    }
    try {
      // Reads wait only for a process that repairs the write-ahead log after another one died.
      return await whenFree(attempt, busyTimeoutMs)
    } catch (error) {
      throw asStoreError(error, path)
    }
  }

  writing = async <T>(change: () => T): Promise<T> => {
    this.refuseUnwritable()
    return this.#input.writer.submit(change)
  }
}
