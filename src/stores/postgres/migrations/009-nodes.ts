/** The processes that serve this store, as they say themselves. They are of no project. */
export const nodes: readonly string[] = [
  `create table if not exists nodes (
    id text collate "C" primary key,
    facts text not null,
    seen_at bigint not null,
    expires_at bigint not null
  )`,
]
