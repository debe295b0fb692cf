/** The state of a store, for an operator before and after a change. */
export interface StoreStatus {
  kind: 'sqlite' | 'postgres'
  /** For people: without user and password. */
  place: string
  /** Its database and version. */
  server: string
  /** The schema it has; 0 when there is none yet. */
  schema: number
  /** The schema this program makes. */
  newestSchema: number
  /** Size on disk, with indexes. */
  bytes: number
  projects: Array<{ project: string; conversations: number; events: number }>
}
