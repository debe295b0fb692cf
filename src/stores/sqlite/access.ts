/** Access to the file for the operations of a store: reads see what other processes wrote, writes share one writer. */
export interface Access {
  /** Runs a read on the newest commit. SQLite's errors become ours. */
  reading<T>(read: () => T): Promise<T>
  /** Runs a change inside the next transaction and resolves when it is durable. */
  writing<T>(change: () => T): Promise<T>
}
