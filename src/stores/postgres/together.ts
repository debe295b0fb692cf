/** Short questions that are asked at the same moment go to the server together. */
import { isLostConnection } from './errors.ts'
import type { Statement } from './wire.ts'

interface Waiting {
  statement: Statement
  resolve(rows: unknown[]): void
  reject(error: unknown): void
}

/** More on one connection would wait for each other while others are idle. */
const mostTogether = 8

export function together({
  one,
  several,
}: {
  /** Asks a question alone. */
  one(statement: Statement): Promise<unknown[]>
  /** Asks several at once; when one fails, all do. */
  several(statements: readonly [Statement, ...Statement[]]): Promise<unknown[][]>
}): (statement: Statement) => Promise<unknown[]> {
  let waiting: Waiting[] = []

  function flush(): void {
    const all = waiting
    waiting = []
    for (let from = 0; from < all.length; from += mostTogether) ask(all.slice(from, from + mostTogether))
  }

  function ask(asked: readonly Waiting[]): void {
    const [first, ...rest] = asked
    if (rest.length === 0) {
      alone(first!)
      return
    }
    several([first!.statement, ...rest.map(({ statement }) => statement)]).then(
      answers => {
        for (const [index, { resolve }] of asked.entries()) resolve(answers[index]!)
      },
      error => {
        for (const each of asked) {
          if (isLostConnection(error)) each.reject(error)
          // Which of them it was, each finds out for itself.
          else alone(each)
        }
      },
    )
  }

  function alone({ statement, resolve, reject }: Waiting): void {
    one(statement).then(resolve, reject)
  }

  return statement =>
    new Promise((resolve, reject) => {
      // Runs when everything that was ready to run has run, and so has asked.
      if (waiting.length === 0) process.nextTick(flush)
      waiting.push({ statement, resolve, reject })
    })
}
