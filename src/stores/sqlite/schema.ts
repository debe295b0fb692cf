/**
 * Every table of the store.
 *
 * Foreign keys restrict and nothing cascades: rows go by purge and erase only.
 */

/** The number of the schema below. It grows with every change; a file with another number is refused. */
export const schemaNumber = 7

/** The statements that make the schema, in order. */
export const schema = `
create table meta (name text primary key, value text not null) without rowid;

create table projects (
  project integer primary key,
  id text not null unique,
  created_at integer not null
);

create table conversations (
  -- Never used again: the search index knows conversations by it.
  conversation integer primary key autoincrement,
  project integer not null references projects,
  id text not null,
  work_key text not null,
  work_type text not null,
  work_state text,
  work_priority integer,
  work_feature text,
  status text not null,
  created_at integer not null,
  -- To the minute, so that a busy conversation does not move in this index with every message.
  recent_at integer not null,
  info text not null,
  due_at integer,
  unique (project, id)
);
create unique index conversations_by_work on conversations (project, work_key);
create index conversations_by_recency on conversations (project, recent_at);
create index conversations_due on conversations (project, due_at) where due_at is not null;
create index conversations_by_work_state on conversations
  (project, work_type, work_state, work_priority, created_at, conversation) where work_state is not null;
create index tasks_by_feature on conversations (project, work_feature, conversation) where work_feature is not null;

create table lanes (
  lane integer primary key,
  conversation integer not null references conversations,
  audience_key text not null,
  kind text not null,
  audience text not null,
  unique (conversation, audience_key, kind)
);

-- In commit order: the row number is the position, and the newest page takes every append.
create table events (
  position integer primary key,
  conversation integer not null references conversations,
  version integer not null,
  type text not null,
  schema integer not null,
  at integer not null,
  actor text not null,
  channel text not null,
  request text,
  message text,
  lane integer references lanes,
  -- Running totals of the lane, this message included.
  messages integer,
  tokens integer,
  input integer,
  output integer,
  -- CRC-32 of the body and its place: cheap enough to check on every read.
  crc integer not null,
  -- Null together when the content was erased.
  salt blob,
  body text,
  digest blob not null,
  hash blob not null
);
-- The newest entry is the conversation's version, hash and last activity: an append writes no other row for them.
create unique index events_by_version on events (conversation, version);
-- Covers the sums of any window. Facts that are not messages have no lane, and are found here too.
create index events_by_lane on events (conversation, lane, version, messages, tokens, input, output);

create table sessions (
  session integer primary key,
  project integer not null references projects,
  id text not null,
  conversation integer not null references conversations,
  session_key text not null,
  agent text not null,
  status text not null,
  -- Not before this time; use moves the real one on without touching this row.
  expires_at integer,
  head text not null,
  unique (project, id)
);
create unique index sessions_active on sessions (project, session_key) where status = 'active';
-- In the order they were made, as an index ends with the row number.
create index sessions_by_project on sessions (project);
create index sessions_by_conversation on sessions (conversation);
create index sessions_by_expiry on sessions (project, expires_at) where status = 'active' and expires_at is not null;

create table blobs (
  blob integer primary key,
  project integer not null references projects,
  digest text not null,
  json blob not null,
  unique (project, digest)
);
create table blob_uses (
  blob integer not null references blobs,
  position integer not null references events,
  primary key (blob, position)
) without rowid;
create index blob_uses_by_position on blob_uses (position);

-- Not tied to the conversation: a key must outlive its purge.
create table keys (
  project integer not null references projects,
  key text not null,
  digest text not null,
  conversation_id text not null,
  first_version integer not null,
  last_version integer not null,
  session_id text,
  primary key (project, key)
) without rowid;

create table leases (
  project integer not null references projects,
  name text not null,
  holder text not null,
  generation integer not null,
  expires_at integer not null,
  primary key (project, name)
) without rowid;

create table purges (
  purge integer primary key,
  project integer not null references projects,
  conversation_id text not null,
  archive text not null,
  events integer not null,
  hash blob not null,
  at integer not null,
  actor text not null,
  channel text not null,
  request text,
  reason text,
  restored_at integer
);
create index purges_by_conversation on purges (project, conversation_id);

-- The processes that serve this store.
create table nodes (
  id text primary key not null,
  facts text not null,
  seen_at integer not null,
  expires_at integer not null
) without rowid, strict;
`
