/**
 * Heights and offsets of rows, in a Fenwick tree: rows are measured one by one, and scrolling asks for the offset of
 * any of 100,000.
 */
export class Heights {
  #heights: Float64Array
  #tree: Float64Array
  #known: Uint8Array
  #count = 0
  #estimate: number

  constructor(estimate: number) {
    this.#estimate = estimate
    this.#heights = new Float64Array(0)
    this.#tree = new Float64Array(1)
    this.#known = new Uint8Array(0)
  }

  get count(): number {
    return this.#count
  }

  get total(): number {
    return this.top(this.#count)
  }

  /** Adds rows of the usual height at the end, or removes rows. */
  resize(count: number): void {
    if (count === this.#count) return
    const heights = new Float64Array(Math.max(count, Math.ceil(this.#heights.length)))
    const known = new Uint8Array(heights.length)
    const kept = Math.min(count, this.#count)
    heights.set(this.#heights.subarray(0, kept))
    known.set(this.#known.subarray(0, kept))
    heights.fill(this.#estimate, kept, count)
    this.#heights = heights
    this.#known = known
    this.#count = count
    this.#build()
  }

  /** Sets the assumed height of rows that are not measured yet. */
  guess(estimate: number): void {
    this.#estimate = estimate
    for (let row = 0; row < this.#count; row++) if (this.#known[row] === 0) this.#heights[row] = estimate
    this.#build()
  }

  /** @returns true when the height changed */
  set(row: number, height: number): boolean {
    if (row < 0 || row >= this.#count) return false
    this.#known[row] = 1
    const difference = height - this.#heights[row]!
    if (Math.abs(difference) < 0.5) return false
    this.#heights[row] = height
    for (let at = row + 1; at <= this.#count; at += at & -at) this.#tree[at]! += difference
    return true
  }

  height(row: number): number {
    return this.#heights[row] ?? 0
  }

  /** Offset of a row; for `count`, the total height. */
  top(row: number): number {
    let sum = 0
    for (let at = Math.min(row, this.#count); at > 0; at -= at & -at) sum += this.#tree[at]!
    return sum
  }

  /** Finds the row at an offset. */
  rowAt(place: number): number {
    let row = 0
    let rest = place
    for (let step = 1 << Math.floor(Math.log2(this.#count || 1)); step > 0; step >>= 1) {
      const next = row + step
      if (next <= this.#count && this.#tree[next]! <= rest) {
        row = next
        rest -= this.#tree[next]!
      }
    }
    return Math.max(0, Math.min(row, this.#count - 1))
  }

  #build(): void {
    this.#tree = new Float64Array(this.#count + 1)
    for (let row = 1; row <= this.#count; row++) {
      this.#tree[row]! += this.#heights[row - 1]!
      const parent = row + (row & -row)
      if (parent <= this.#count) this.#tree[parent]! += this.#tree[row]!
    }
  }
}
