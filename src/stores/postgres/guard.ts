/** Refuses calls to a store that is closed, or writes to one that is read-only; turns what fails into our errors. */
import { StoreClosed, StoreReadOnly } from '../../errors.ts'
import { asStoreError } from './errors.ts'

export class Guard {
  readonly #name: string
  readonly #readOnly: boolean
  #isClosed = false

  constructor(name: string, { readOnly }: { readOnly: boolean }) {
    this.#name = name
    this.#readOnly = readOnly
  }

  close(): void {
    this.#isClosed = true
  }

  refuseClosed(): void {
    if (this.#isClosed) throw new StoreClosed()
  }

  async reading<T>(work: () => Promise<T>): Promise<T> {
    this.refuseClosed()
    try {
      return await work()
    } catch (error) {
      throw this.#isClosed ? new StoreClosed() : asStoreError(error, this.#name)
    }
  }

  async writing<T>(work: () => Promise<T>): Promise<T> {
    if (this.#readOnly) {
      throw new StoreReadOnly(`${this.#name} was opened for reading only. Nothing was written.`, { place: this.#name })
    }
    return this.reading(work)
  }
}
