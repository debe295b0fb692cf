/**
 * Keeps the process alive while it waits, as a read of a socket does. A program that waits for the next event of a
 * subscription is not over. A process that only helps, such as one that starts agents by itself, waits without this.
 */
export async function keepProcessAlive<T>(result: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, 2 ** 30)
  try {
    return await result
  } finally {
    clearInterval(timer)
  }
}
