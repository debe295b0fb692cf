/** How the operations of a store reach its file: seeing what others wrote, and through the one writer. */
export interface Access {
  /** Runs a read on what is there now. Errors of the file become ours. */
  reading<T>(read: () => T): Promise<T>
  /** Runs a change inside the next transaction and resolves when it is durable. */
  writing<T>(change: () => T): Promise<T>
}
