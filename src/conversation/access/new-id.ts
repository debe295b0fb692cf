/** Ids that sort by time, so that indexes over them grow at their end. */
import { randomFillSync } from 'node:crypto'
import { V7Generator } from 'uuidv7'

/** Drawn in bulk: one call of the system's generator serves some hundred ids. */
const numbers = new Uint32Array(1024)
let next = numbers.length

const generator = new V7Generator({
  nextUint32() {
    if (next === numbers.length) {
      randomFillSync(numbers)
      next = 0
    }
    return numbers[next++]!
  },
})

export function newId(): string {
  return generator.generate().toString()
}
