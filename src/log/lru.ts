/**
 * A map that remembers the most recently used entries: at least as many as its limit, at most twice that.
 *
 * Two generations instead of an order of use: a hit costs one look-up, where moving an entry to the end costs three.
 */
export class Recent<V> {
  readonly #limit: number
  #young = new Map<string, V>()
  #old = new Map<string, V>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: string): V | undefined {
    const value = this.#young.get(key)
    if (value !== undefined) return value
    const older = this.#old.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#limit && !this.#young.has(key)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#old.delete(key)
    this.#young.set(key, value)
  }

  delete(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }
}
