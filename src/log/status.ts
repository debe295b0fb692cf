/** What an operator asks of a store before and after changing something about it. */
export interface StoreStatus {
  kind: 'sqlite' | 'postgres'
  /** For people: without user and password. */
  place: string
  /** What keeps it, and of which version. */
  server: string
  /** The schema it has; 0 when there is none yet. */
  schema: number
  /** The schema this program makes. */
  newestSchema: number
  /** What it takes on the disk, indexes included. */
  bytes: number
  projects: Array<{ project: string; conversations: number; events: number }>
}
