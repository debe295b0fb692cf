/** The one call that appended before `008-append-arrays.ts`, which says what it is for: all of it is handed in as JSON. */
export const appendFunction = `create or replace function append_events(
    base bigint, first_n integer, groups json, rows json, new_lanes json, heads json, new_keys json, fences json,
    new_blobs json
  ) returns json language plpgsql as $$
  declare
    lock_key bigint;
    refused json;
    bad integer[] := '{}';
    number bigint;
  begin
    -- Not its partitions, where it has any: those that are written to are locked anyway.
    lock table only events in row exclusive mode;
    for lock_key in select distinct (g ->> 'k')::bigint from json_array_elements(groups) g order by 1 loop
      perform pg_advisory_xact_lock(lock_key);
    end loop;

    select json_agg(json_build_object('g', found.g, 'why', found.why, 'what', found.what)), array_agg(found.g)
    into refused, bad
    from (
      select x.g, 'moved' as why, null as what
      from json_to_recordset(groups) as x(g integer, p bigint, c bigint, id text, work text, expected integer)
      left join conversations h on h.project = x.p and h.conversation = x.c
      where x.expected is not null and (
        coalesce(h.version, 0) <> x.expected
        -- One row each, asked for as such: otherwise the server reads them all into a hash first.
        or (x.expected = 0 and coalesce(
          (select true from conversations o where o.project = x.p and o.id = x.id limit 1),
          (select true from conversations o where o.project = x.p and o.work_key = x.work limit 1), false)))
      union all
      select x.g, 'key', x.key
      from json_to_recordset(new_keys) as x(g integer, p bigint, key text)
      join keys k on k.project = x.p and k.key = x.key
    ) found;

    if fences is not null then
      -- Shared locks: nobody takes one of these leases over before this is committed.
      perform 1 from leases l
      where (l.project, l.name) in (
        select x.p, x.name from json_to_recordset(fences) as x(p bigint, name text))
      order by l.project, l.name for share;
      select array_cat(bad, array_agg(lost.g)),
        array_to_json(array_cat(
          array(select json_array_elements(refused)),
          array_agg(json_build_object('g', lost.g, 'why', 'fence', 'what', lost.name || ' ' || lost.generation))))
      into bad, refused
      from (
        select x.g, x.name, x.generation
        from json_to_recordset(fences) as x(g integer, p bigint, name text, generation bigint, now bigint)
        where not exists (
          select 1 from leases l where l.project = x.p and l.name = x.name and l.generation = x.generation
            and l.expires_at > coalesce(x.now, floor(extract(epoch from clock_timestamp()) * 1000)::bigint))
      ) lost;
    end if;
    bad := coalesce(bad, '{}');

    number := pg_current_xact_id()::text::bigint + base;

    insert into conversations (project, conversation, id, work_key, work_type, status, created_at, recent_at, info,
      title_grams, version, hash, active_at, due_at, branch_of, branch_version, work_state, work_priority, work_feature)
    select x.p, x.c, x.id, x.work, x.kind, x.status, x.created, x.recent, x.info, x.grams, x.version,
      decode(x.hash, 'hex'), x.at, x.due, x.parent, x.branched, x.state, x.priority, x.feature
    from json_to_recordset(groups) as x(g integer, p bigint, c bigint, id text, work text, kind text, expected integer,
      version integer, hash text, at bigint, recent bigint, created bigint, status text, info text, grams text[],
      due bigint, parent bigint, branched integer, state text, priority smallint, feature text)
    where x.expected = 0 and x.version > 0 and x.g <> all (bad);

    update conversations h
    set version = x.version, hash = decode(x.hash, 'hex'), active_at = x.at,
      recent_at = greatest(h.recent_at, x.recent), status = coalesce(x.status, h.status), info = coalesce(x.info, h.info),
      title_grams = coalesce(x.grams, h.title_grams), due_at = case when x.info is null then h.due_at else x.due end,
      work_state = coalesce(x.state, h.work_state), work_priority = coalesce(x.priority, h.work_priority)
    from json_to_recordset(groups) as x(g integer, p bigint, c bigint, expected integer, version integer, hash text,
      at bigint, recent bigint, status text, info text, grams text[], due bigint, state text, priority smallint)
    where h.project = x.p and h.conversation = x.c and x.expected > 0 and x.version > x.expected and x.g <> all (bad);

    if new_lanes is not null then
      insert into lanes (project, conversation, lane, audience_key, kind, audience)
      select x.p, x.c, x.lane, x.key, x.kind, x.audience
      from json_to_recordset(new_lanes) as x(g integer, p bigint, c bigint, lane integer, key text, kind text,
        audience text)
      where x.g <> all (bad);
    end if;

    insert into events (project, conversation, version, tx, n, type, schema, at, actor, channel, request, message,
      lane, messages, tokens, input, output, crc, salt, body, digest, hash)
    select x.p, x.c, x.v, number, first_n + x.n, x.type, x.schema, x.at, x.actor, x.channel, x.request, x.message,
      x.lane, x.messages, x.tokens, x.input, x.output, x.crc, decode(x.salt, 'hex'), x.body, decode(x.digest, 'hex'),
      decode(x.hash, 'hex')
    from json_to_recordset(rows) as x(g integer, p bigint, c bigint, v integer, n integer, type text, schema integer,
      at bigint, actor text, channel text, request text, message text, lane integer, messages bigint, tokens bigint,
      input bigint, output bigint, crc bigint, salt text, body text, digest text, hash text)
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

    return json_build_object('tx', number, 'refused', refused);
  end $$`

export const append: readonly string[] = [appendFunction]
