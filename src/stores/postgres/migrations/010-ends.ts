/**
 * Where each conversation ends, in a narrow table of its own: every append moves it on, and in `conversations` that wrote
 * a wide row anew and opened all of its indexes.
 *
 * And what an append writes beside it: no foreign key of `events` is looked up with each row, since whoever appends holds
 * the end of the conversation; the end itself stays for as long as there are events. One index finds the messages of a
 * lane and the facts that are none; it has no sums in it, because those of the newest pages are read from the row anyway.
 */
import { isolate } from './003-isolation.ts'
import { appendFunction } from './append-function.ts'

export const ends: readonly string[] = [
  // Half of each page is left free, so that an end can be rewritten in place with every append.
  `create table ends (
    project bigint not null,
    conversation bigint not null,
    -- Of the newest event. Whoever appends moves the version on from the one it decided on, or not at all.
    version integer not null,
    hash bytea not null,
    active_at bigint not null,
    primary key (project, conversation),
    foreign key (project, conversation) references conversations
  ) with (fillfactor = 50)`,
  `insert into ends (project, conversation, version, hash, active_at)
    select project, conversation, version, hash, active_at from conversations`,
  `alter table conversations drop column version, drop column hash, drop column active_at`,
  ...isolate('ends'),

  // By whatever name: whoever has partitioned the table has made it again.
  `do $$
  declare name text;
  begin
    for name in select conname from pg_constraint
      where conrelid = 'events'::regclass and confrelid = 'conversations'::regclass and contype = 'f' and conparentid = 0
    loop
      execute format('alter table events drop constraint %I', name);
    end loop;
  end $$`,
  `create function refuse_end_of_events() returns trigger language plpgsql as $$
  declare is_needed boolean;
  begin
    execute format('select exists (select 1 from %I.events where project = $1 and conversation = $2)', tg_table_schema)
      into is_needed using old.project, old.conversation;
    if is_needed then
      raise foreign_key_violation using message = 'there are events of conversation ' || old.conversation;
    end if;
    return old;
  end $$`,
  `create trigger events_need_their_end before delete on ends for each row execute function refuse_end_of_events()`,

  `drop index events_by_lane, facts_by_version`,
  `create index events_by_lane on events (project, conversation, lane, version)`,

  `do $$
  declare call regprocedure;
  begin
    for call in select p.oid::regprocedure from pg_proc p
      where p.proname = 'append_events' and p.pronamespace = current_schema()::regnamespace
    loop
      execute 'drop function ' || call;
    end loop;
  end $$`,
  appendFunction,
]
