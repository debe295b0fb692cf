/** The processes that serve this store, as they say themselves. */
export const nodes = `
create table nodes (
  id text primary key not null,
  facts text not null,
  seen_at integer not null,
  expires_at integer not null
) without rowid, strict;
`
