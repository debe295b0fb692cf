/**
 * The one call that appends: checks what the caller decided on, then writes all of it, in a single round trip.
 *
 * The caller decides on heads it knows and hands in rows ready to be stored, grouped by conversation. A group whose
 * conversation has moved on since, whose key was used, or whose lease is lost is refused and the others are written.
 *
 * Two things happen before the transaction gets its number, because subscribers read in the order of those numbers:
 * it shows on `events` that it is going to write (so that readers can tell it from transactions that have nothing to do
 * with the log), and it waits for the locks of its conversations (so that of two transactions on one conversation the
 * later one has the higher number).
 *
 * No event is written to a conversation whose end this transaction has not made or moved, and so holds: `events` needs no
 * foreign key, which would look for the conversation again with each row.
 *
 * What every append has comes as arrays, a column each, because reading it as JSON took the server longer than writing it;
 * what few have comes as JSON, and none of it is looked at where it is null. Arrays are taken apart where columns are
 * listed: in `from`, the server would write each of them to a store of its own first.
 *
 * The text is today's. A step that changes the tables under it creates it again; until the last step nobody calls it.
 */
export const appendFunction = `create or replace function append_events(
    base bigint, first_n integer,
    -- In the order in which they are taken, which is the same for everybody.
    locks bigint[],
    -- Ends of conversations about which nothing else changes, and their recency where it does.
    moved integer[], moved_projects bigint[], moved_conversations bigint[], moved_from integer[], moved_to integer[],
    moved_hashes bytea[], moved_at bigint[], moved_recent bigint[],
    -- Events, in their order.
    groups integer[], projects bigint[], conversations bigint[], versions integer[], types text[], schemas integer[],
    times bigint[], actors text[], channels text[], requests text[], message_ids text[], lane_numbers integer[],
    messages_sums bigint[], tokens_sums bigint[], input_sums bigint[], output_sums bigint[], checks bigint[],
    salts bytea[], bodies text[], digests bytea[], hashes bytea[],
    -- Conversations that are new or change otherwise, and what else there is.
    changed json, new_lanes json, heads json, new_keys json, fences json, new_blobs json
  ) returns json language plpgsql as $$
  declare
    refused json[] := '{}';
    bad integer[] := '{}';
    done integer[];
    number bigint;
  begin
    -- Not its partitions, where it has any: those that are written to are locked anyway.
    lock table only events in row exclusive mode;
    perform pg_advisory_xact_lock(k) from unnest(locks) as k;

    if changed is not null then
      select array_cat(refused, array_agg(json_build_object('g', x.g, 'why', 'moved'))), array_cat(bad, array_agg(x.g))
      into refused, bad
      from json_to_recordset(changed) as x(g integer, p bigint, c bigint, id text, work text, expected integer)
      left join ends h on h.project = x.p and h.conversation = x.c
      where coalesce(h.version, 0) <> x.expected
        -- One row each, asked for as such: otherwise the server reads them all into a hash first.
        or (x.expected = 0 and coalesce(
          (select true from conversations o where o.project = x.p and o.id = x.id limit 1),
          (select true from conversations o where o.project = x.p and o.work_key = x.work limit 1), false));
    end if;

    if new_keys is not null then
      select array_cat(refused, array_agg(json_build_object('g', x.g, 'why', 'key', 'what', x.key))),
        array_cat(bad, array_agg(x.g))
      into refused, bad
      from json_to_recordset(new_keys) as x(g integer, p bigint, key text)
      join keys k on k.project = x.p and k.key = x.key;
    end if;

    if fences is not null then
      -- Shared locks: nobody takes one of these leases over before this is committed.
      perform 1 from leases l
      where (l.project, l.name) in (
        select x.p, x.name from json_to_recordset(fences) as x(p bigint, name text))
      order by l.project, l.name for share;
      select array_cat(refused,
          array_agg(json_build_object('g', x.g, 'why', 'fence', 'what', x.name || ' ' || x.generation))),
        array_cat(bad, array_agg(x.g))
      into refused, bad
      from json_to_recordset(fences) as x(g integer, p bigint, name text, generation bigint, now bigint)
      where not exists (
        select 1 from leases l where l.project = x.p and l.name = x.name and l.generation = x.generation
          and l.expires_at > coalesce(x.now, floor(extract(epoch from clock_timestamp()) * 1000)::bigint));
    end if;

    number := pg_current_xact_id()::text::bigint + base;

    -- Who finds another version than the one decided on moves nothing.
    with stepped as (
      update ends h set version = x.version, hash = x.hash, active_at = x.at
      from (
        select unnest(moved) as g, unnest(moved_projects) as p, unnest(moved_conversations) as c,
          unnest(moved_from) as expected, unnest(moved_to) as version, unnest(moved_hashes) as hash, unnest(moved_at) as at
      ) x
      where h.project = x.p and h.conversation = x.c and h.version = x.expected and x.g <> all (bad)
      returning x.g)
    select coalesce(array_agg(g), '{}') into done from stepped;
    if cardinality(done) < cardinality(moved) then
      select array_cat(refused, array_agg(json_build_object('g', g, 'why', 'moved'))), array_cat(bad, array_agg(g))
      into refused, bad
      from unnest(moved) g where g <> all (done) and g <> all (bad);
    end if;
    if moved_recent is not null then
      update conversations h set recent_at = x.recent
      from unnest(moved, moved_projects, moved_conversations, moved_recent) as x(g, p, c, recent)
      where h.project = x.p and h.conversation = x.c and h.recent_at < x.recent and x.g <> all (bad);
    end if;

    if changed is not null then
      insert into conversations (project, conversation, id, work_key, work_type, status, created_at, recent_at, info,
        title_grams, due_at, branch_of, branch_version, work_state, work_priority, work_feature)
      select x.p, x.c, x.id, x.work, x.kind, x.status, x.created, x.recent, x.info, x.grams, x.due, x.parent, x.branched,
        x.state, x.priority, x.feature
      from json_to_recordset(changed) as x(g integer, p bigint, c bigint, id text, work text, kind text, expected integer,
        recent bigint, created bigint, status text, info text, grams text[], due bigint, parent bigint, branched integer,
        state text, priority smallint, feature text)
      where x.expected = 0 and x.g <> all (bad);
      insert into ends (project, conversation, version, hash, active_at)
      select x.p, x.c, x.version, decode(x.hash, 'hex'), x.at
      from json_to_recordset(changed) as x(g integer, p bigint, c bigint, expected integer, version integer, hash text,
        at bigint)
      where x.expected = 0 and x.g <> all (bad);

      update ends h set version = x.version, hash = decode(x.hash, 'hex'), active_at = x.at
      from json_to_recordset(changed) as x(g integer, p bigint, c bigint, expected integer, version integer, hash text,
        at bigint)
      where h.project = x.p and h.conversation = x.c and x.expected > 0 and x.g <> all (bad);
      update conversations h
      set recent_at = greatest(h.recent_at, x.recent), status = x.status, info = x.info, title_grams = x.grams,
        due_at = x.due, work_state = coalesce(x.state, h.work_state),
        work_priority = coalesce(x.priority, h.work_priority)
      from json_to_recordset(changed) as x(g integer, p bigint, c bigint, expected integer, recent bigint, status text,
        info text, grams text[], due bigint, state text, priority smallint)
      where h.project = x.p and h.conversation = x.c and x.expected > 0 and x.g <> all (bad);
    end if;

    if new_lanes is not null then
      insert into lanes (project, conversation, lane, audience_key, kind, audience)
      select x.p, x.c, x.lane, x.key, x.kind, x.audience
      from json_to_recordset(new_lanes) as x(g integer, p bigint, c bigint, lane integer, key text, kind text,
        audience text)
      where x.g <> all (bad);
    end if;

    insert into events (project, conversation, version, tx, n, type, schema, at, actor, channel, request, message,
      lane, messages, tokens, input, output, crc, salt, body, digest, hash)
    select x.p, x.c, x.v, number, first_n + x.place, x.type, x.schema, x.at, x.actor, x.channel, x.request, x.message,
      x.lane, x.messages, x.tokens, x.input, x.output, x.crc, x.salt, x.body, x.digest, x.hash
    from (
      select unnest(groups) as g, generate_series(0, cardinality(groups) - 1) as place, unnest(projects) as p,
        unnest(conversations) as c, unnest(versions) as v, unnest(types) as type, unnest(schemas) as schema,
        unnest(times) as at, unnest(actors) as actor, unnest(channels) as channel, unnest(requests) as request,
        unnest(message_ids) as message, unnest(lane_numbers) as lane, unnest(messages_sums) as messages,
        unnest(tokens_sums) as tokens, unnest(input_sums) as input, unnest(output_sums) as output, unnest(checks) as crc,
        unnest(salts) as salt, unnest(bodies) as body, unnest(digests) as digest, unnest(hashes) as hash
    ) x
    where x.g <> all (bad);

    if heads is not null then
      update sessions s
      set status = x.status, expires_at = x.expires, compactions = x.compactions, head = x.head
      from json_to_recordset(heads) as x(g integer, p bigint, id text, status text, expires bigint, compactions integer,
        head text, new boolean)
      where s.project = x.p and s.id = x.id and not x.new and x.g <> all (bad);
      insert into sessions (project, id, conversation, session_key, agent, status, expires_at, compactions, head)
      select x.p, x.id, x.c, x.key, x.agent, x.status, x.expires, x.compactions, x.head
      from json_to_recordset(heads) as x(g integer, n integer, p bigint, c bigint, id text, key text, agent text,
        status text, expires bigint, compactions integer, head text, new boolean)
      where x.new and x.g <> all (bad) order by x.n;
    end if;

    if new_keys is not null then
      insert into keys (project, key, digest, conversation_id, first_version, last_version, session_id)
      select x.p, x.key, x.digest, x.conversation, x.first, x.last, x.session
      from json_to_recordset(new_keys) as x(g integer, p bigint, key text, digest text, conversation text,
        first integer, last integer, session text)
      where x.g <> all (bad) order by x.p, x.key;
    end if;

    if new_blobs is not null then
      insert into blobs (project, digest, json)
      select distinct on (x.p, x.digest) x.p, x.digest, x.json
      from json_to_recordset(new_blobs) as x(g integer, p bigint, digest text, json text)
      where x.g <> all (bad) order by x.p, x.digest
      on conflict do nothing;
      insert into blob_uses (project, digest, conversation, version)
      select distinct x.p, x.digest, x.c, x.v
      from json_to_recordset(new_blobs) as x(g integer, p bigint, c bigint, v integer, digest text)
      where x.g <> all (bad);
    end if;

    return json_build_object('tx', number, 'refused', to_json(refused));
  end $$`
