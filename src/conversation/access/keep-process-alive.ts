/**
 * A program that waits for what comes is not over: while somebody waits for the next of a subscription the process goes
 * on, as it does for a read of a socket. Whoever breaks off, aborts or closes lets it end. What only helps, such as
 * starting agents by themselves, subscribes without this.
 */
export function keepingAlive<T>(events: AsyncIterableIterator<T>): AsyncIterableIterator<T> {
  return {
    async next() {
      const alive = setInterval(() => undefined, 2 ** 30)
      try {
        return await events.next()
      } finally {
        clearInterval(alive)
      }
    },
    async return() {
      await events.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
