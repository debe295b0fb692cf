/**
 * Every table of the store. Each key starts with the project, so that the tables can be partitioned or distributed by it.
 *
 * Foreign keys restrict and nothing cascades: rows go by purge and erase only.
 */

/** The number of the schema below. It grows with every change; a store with another number is refused. */
export const schemaNumber = 12

const log: readonly string[] = [
  'create table meta (name text primary key, value text not null)',

  `create table projects (
    project bigint generated always as identity primary key,
    id text collate "C" not null unique,
    created_at bigint not null
  )`,

  'create sequence conversation_numbers',
  // Half of each page is left free, so that a head can be rewritten in place with every append.
  `create table conversations (
    project bigint not null references projects,
    conversation bigint not null default nextval('conversation_numbers'),
    id text collate "C" not null,
    -- A hash: the key itself can be longer than an index takes.
    work_key text collate "C" not null,
    work_type text collate "C" not null,
    work_state text collate "C",
    work_priority smallint,
    work_feature text collate "C",
    status text collate "C" not null,
    created_at bigint not null,
    -- To the minute, so that a busy conversation does not move in this index with every message.
    recent_at bigint not null,
    info text not null,
    -- The trigrams of its title.
    title_grams text[] not null,
    due_at bigint,
    -- The parent cannot be removed while a branch is there, nor a branch be written while its parent is being removed.
    branch_of bigint,
    branch_version integer,
    -- Of the newest event.
    version integer not null,
    hash bytea not null,
    active_at bigint not null,
    primary key (project, conversation),
    foreign key (project, branch_of) references conversations (project, conversation)
  ) with (fillfactor = 50)`,
  'create unique index conversations_by_id on conversations (project, id)',
  'create unique index conversations_by_work on conversations (project, work_key)',
  'create index conversations_by_recency on conversations (project, recent_at)',
  'create index conversations_by_title on conversations using gin (title_grams)',
  'create index conversations_due on conversations (project, due_at, conversation) where due_at is not null',
  'create index conversations_by_parent on conversations (project, branch_of) where branch_of is not null',
  `create index conversations_by_work_state on conversations
    (project, work_type, work_state, work_priority, created_at, conversation) where work_state is not null`,
  `create index tasks_by_feature on conversations (project, work_feature, conversation) where work_feature is not null`,

  `create table lanes (
    project bigint not null,
    conversation bigint not null,
    -- 1, 2, 3 … within the conversation.
    lane integer not null,
    audience_key text not null,
    kind text not null,
    audience text not null,
    primary key (project, conversation, lane),
    foreign key (project, conversation) references conversations
  )`,

  `create table events (
    project bigint not null,
    conversation bigint not null,
    version integer not null,
    -- Its position: the number of the transaction that wrote it, and its place there.
    tx bigint not null,
    n integer not null,
    type text not null,
    schema integer not null,
    at bigint not null,
    actor text not null,
    channel text not null,
    request text,
    message text,
    lane integer,
    -- Running totals of the lane, this message included.
    messages bigint,
    tokens bigint,
    input bigint,
    output bigint,
    crc bigint not null,
    -- Null together when the content was erased.
    salt bytea,
    body text,
    digest bytea not null,
    hash bytea not null,
    primary key (project, conversation, version),
    foreign key (project, conversation) references conversations
  )`,
  'create unique index events_by_position on events (project, tx, n)',
  // Facts that are not messages have no lane, and are found here too.
  'create index events_by_lane on events (project, conversation, lane, version)',
  `create index phases_by_version on events (project, conversation, version)
    where type in ('conversation.created', 'phase.changed')`,

  `create table sessions (
    project bigint not null,
    session bigint generated always as identity,
    id text collate "C" not null,
    conversation bigint not null,
    session_key text collate "C" not null,
    agent text collate "C" not null,
    status text collate "C" not null,
    -- Not before this time; use moves the real one on without touching this row.
    expires_at bigint,
    compactions integer not null,
    head text not null,
    primary key (project, session),
    foreign key (project, conversation) references conversations
  )`,
  'create unique index sessions_by_id on sessions (project, id)',
  `create unique index sessions_active on sessions (project, session_key) where status = 'active'`,
  'create index sessions_by_conversation on sessions (project, conversation)',
  `create index sessions_by_expiry on sessions (project, expires_at)
    where status = 'active' and expires_at is not null`,

  `create table blobs (
    project bigint not null references projects,
    digest text collate "C" not null,
    json text not null,
    primary key (project, digest)
  )`,
  `create table blob_uses (
    project bigint not null,
    digest text collate "C" not null,
    conversation bigint not null,
    version integer not null,
    primary key (project, conversation, version, digest),
    foreign key (project, digest) references blobs,
    foreign key (project, conversation, version) references events
  )`,
  'create index blob_uses_by_digest on blob_uses (project, digest)',

  // Not tied to the conversation: a key must outlive its purge.
  `create table keys (
    project bigint not null references projects,
    key text collate "C" not null,
    digest text not null,
    conversation_id text not null,
    first_version integer not null,
    last_version integer not null,
    session_id text,
    primary key (project, key)
  )`,

  `create table leases (
    project bigint not null references projects,
    name text collate "C" not null,
    holder text not null,
    generation bigint not null,
    expires_at bigint not null,
    primary key (project, name)
  )`,

  `create table purges (
    project bigint not null references projects,
    purge bigint generated always as identity,
    conversation_id text collate "C" not null,
    archive text not null,
    events integer not null,
    hash bytea not null,
    at bigint not null,
    actor text not null,
    channel text not null,
    request text,
    reason text,
    restored_at bigint,
    primary key (project, purge)
  )`,
  'create index purges_by_conversation on purges (project, conversation_id)',

  // The processes that serve this store. They belong to no project.
  `create table nodes (
    id text collate "C" primary key,
    facts text not null,
    seen_at bigint not null,
    expires_at bigint not null
  )`,
]

/** Derived from the log, after the commits: rows can be deleted at any time and are made again. */
const derived: readonly string[] = [
  // The full-text index: words and their places, no text.
  `create table docs (
    project bigint not null,
    conversation bigint not null,
    version integer not null,
    lane integer not null,
    at bigint not null,
    author text collate "C" not null,
    role text collate "C" not null,
    phase text collate "C",
    message text collate "C" not null,
    length integer not null,
    words tsvector not null,
    primary key (project, conversation, version),
    foreign key (project, conversation) references conversations
  )`,
  'create index docs_by_message on docs (project, message)',
  'create index docs_by_author on docs (project, author, conversation)',
  'create index docs_by_words on docs using gin (words)',
  // Everything up to this transaction is in the index.
  'create table search_progress (project bigint primary key references projects, tx bigint not null)',

  // Heads as they stood every so many versions, so that a past state is not folded from the beginning.
  `create table landmarks (
    project bigint not null,
    conversation bigint not null,
    version integer not null,
    heads text not null,
    primary key (project, conversation, version),
    foreign key (project, conversation) references conversations
  )`,
]

const isolatedTables = [
  ...['conversations', 'lanes', 'events', 'sessions', 'blobs', 'blob_uses', 'keys', 'leases', 'purges'],
  ...['docs', 'search_progress', 'landmarks'],
]

/**
 * Row-level security. A role that does not own the tables sees and writes the rows of the one project that its
 * transaction names (`?project=` in the URL of the store). The owner sees all.
 *
 * It guards against a program that asks for the wrong rows. A program that may send any SQL can also name another project.
 */
const isolation: readonly string[] = [
  'alter table projects enable row level security',
  `create policy one_project on projects using (id = current_setting('colloquy.project', true))`,
  ...isolatedTables.flatMap(table => [
    `alter table ${table} enable row level security`,
    // The sub-query runs once per statement, not once per row.
    `create policy one_project on ${table} using (
      project = (select p.project from projects p where p.id = current_setting('colloquy.project', true)))`,
  ]),
]

/** The statements that make the schema, in order. */
export const schema: readonly string[] = [...log, ...derived, ...isolation]
