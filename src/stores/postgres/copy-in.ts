/** Takes a copied project in: its rows as they were, under a name that nobody can ask for until all of it is there. */

import { checksum, wrongChecksum } from '../../log/records/stored-row.ts'
import {
  type CopiedConversation,
  type CopiedEvent,
  type CopyBeginning,
  type CopyTarget,
  copyRefused,
  nameWhileCopied,
} from '../../log/upkeep/copy.ts'
import { copySource } from './copy-out.ts'
import type { Database, Run } from './database.ts'
import { hashed, workHash } from './heads.ts'
import { titleGrams } from './search-index.ts'

const hex = (base64: string) => Buffer.from(base64, 'base64').toString('hex')

export async function copyTarget(
  database: Database,
  { project, from, base }: { project: string; from: CopyBeginning; base: number },
): Promise<CopyTarget> {
  const name = nameWhileCopied(project)
  const marker = `copy ${project}`
  const { name: place } = database.place
  const { number, done } = await database.transaction(begin)
  /** What was seen of conversations and lanes: their numbers. */
  const conversations = new Map<string, number>()
  const lanes = new Map<string, number>()
  const newest = new Map<number, number>()

  async function begin(run: Run): Promise<{ number: number; done: number }> {
    await run(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [`colloquy copy ${place} ${project}`])
    const [known] = await run<[number]>('select project from projects where id = $1', [name])
    if (known) {
      const [source] = await run<[string]>('select value from meta where name = $1', [marker])
      if (source?.[0] !== from.epoch) throw copyRefused.isFromElsewhere(project, place)
      const [count] = await run<[number]>('select count(*) from events where project = $1', [known[0]])
      return { number: known[0], done: count![0] }
    }
    await refuseHeld(run)
    const [made] = await run<[number]>('insert into projects (id, created_at) values ($1, $2) returning project', [
      name,
      from.createdAt,
    ])
    await run(
      'insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
      [marker, from.epoch],
    )
    await run(
      `insert into purges (project, conversation_id, archive, events, hash, at, actor, channel, request, reason, restored_at)
      select $1, x.conversation, x.archive, x.events, decode(x.hash, 'hex'), x.at, x.actor, x.channel, x.request, x.reason,
        x.restored
      from json_to_recordset($2) as x(n integer, conversation text, archive text, events integer, hash text, at bigint,
        actor text, channel text, request text, reason text, restored bigint) order by x.n`,
      [
        made![0],
        JSON.stringify(
          from.purges.map(({ conversationId, hash, requestId, restoredAt, ...rest }, n) => ({
            ...rest,
            n,
            conversation: conversationId,
            hash: hex(hash),
            request: requestId,
            restored: restoredAt,
          })),
        ),
      ],
    )
    return { number: made![0], done: 0 }
  }

  /** A project of that name that holds nothing is in nobody's way. */
  async function refuseHeld(run: Run): Promise<number | undefined> {
    const [row] = await run<[number, number, number, number]>(
      `select project, (select count(*) from conversations c where c.project = p.project),
        (select count(*) from keys k where k.project = p.project)
          + (select count(*) from purges g where g.project = p.project),
        (select count(*) from leases l where l.project = p.project
          and l.expires_at > extract(epoch from clock_timestamp()) * 1000)
      from projects p where id = $1 for update`,
      [project],
    )
    if (!row) return undefined
    const [there, held, others, leases] = row
    if (held + others > 0) throw copyRefused.hasOwnData(project, place, held)
    if (leases > 0) throw copyRefused.isInUse(project, place)
    return there
  }

  async function putConversations(page: readonly CopiedConversation[]): Promise<void> {
    await database.transaction(async run => {
      const rows = page.map(
        ({ id, workItem, workType, status, createdAt, recentAt, info, title, dueAt, ...rest }, n) => ({
          n,
          id,
          work: workHash(workItem),
          kind: workType,
          status,
          created: createdAt,
          recent: recentAt,
          info,
          grams: titleGrams(number, title),
          due: dueAt,
          version: rest.version,
          hash: hex(rest.hash),
          active: rest.activeAt,
          ...rest.work,
          ...(workItem.type === 'task' && { feature: workItem.featureId }),
        }),
      )
      await run(
        `insert into conversations (project, conversation, id, work_key, work_type, status, created_at, recent_at, info,
          title_grams, due_at, work_state, work_priority, work_feature)
        select $1, nextval('conversation_numbers'), x.* from (
          select id, work, kind, status, created, recent, info, grams, due, state, priority, feature
          from json_to_recordset($2) as x(n integer, id text, work text, kind text, status text, created bigint,
            recent bigint, info text, grams text[], due bigint, state text, priority smallint, feature text)
          order by n) x
        on conflict (project, id) do update set work_key = excluded.work_key, work_type = excluded.work_type,
          status = excluded.status, recent_at = excluded.recent_at, info = excluded.info,
          title_grams = excluded.title_grams, due_at = excluded.due_at, work_state = excluded.work_state,
          work_priority = excluded.work_priority, work_feature = excluded.work_feature`,
        [number, JSON.stringify(rows)],
      )
      const ends = rows.map(({ id, version, hash, active }) => ({ id, version, hash, active }))
      await run(
        `insert into ends (project, conversation, version, hash, active_at)
        select $1, c.conversation, x.version, decode(x.hash, 'hex'), x.active
        from json_to_recordset($2) as x(id text, version integer, hash text, active bigint)
        join conversations c on c.project = $1 and c.id = x.id
        on conflict (project, conversation) do update
        set version = excluded.version, hash = excluded.hash, active_at = excluded.active_at`,
        [number, JSON.stringify(ends)],
      )
    })
    branches.push(...page.filter(one => one.branchOf !== null))
    await linkBranches()
  }

  /** Branches whose parent has not come yet. */
  let branches: CopiedConversation[] = []

  async function linkBranches(): Promise<void> {
    if (branches.length === 0) return
    const rows = branches.map(({ id, branchOf }) => ({ id, parent: branchOf!.conversationId, v: branchOf!.version }))
    const linked = await database.read<[string]>(
      `update conversations c set branch_of = p.conversation, branch_version = x.v
      from json_to_recordset($2) as x(id text, parent text, v integer)
      join conversations p on p.project = $1 and p.id = x.parent
      where c.project = $1 and c.id = x.id returning c.id`,
      [number, JSON.stringify(rows)],
    )
    const isLinked = new Set(linked.map(([id]) => id))
    branches = branches.filter(({ id }) => !isLinked.has(id))
  }

  async function numberOf(run: Run, events: readonly CopiedEvent[]): Promise<void> {
    const missing = [...new Set(events.map(event => event.conversationId))].filter(id => !conversations.has(id))
    if (missing.length === 0) return
    const rows = await run<[string, number, number | null, string, string]>(
      `select c.id, c.conversation, l.lane, l.kind, l.audience_key
      from conversations c left join lanes l using (project, conversation)
      where c.project = $1 and c.id = any($2::text[])`,
      [number, missing],
    )
    for (const [id, conversation, lane, kind, audienceKey] of rows) {
      conversations.set(id, conversation)
      if (lane === null) continue
      lanes.set(laneKey(conversation, { kind, audienceKey }), lane)
      newest.set(conversation, Math.max(lane, newest.get(conversation) ?? 0))
    }
  }

  async function putEvents(page: readonly CopiedEvent[]): Promise<void> {
    const forget = () => {
      for (const known of [conversations, lanes, newest]) known.clear()
    }
    if (conversations.size > 10_000) forget()
    try {
      await database.transaction(run => write(run, page))
    } catch (error) {
      forget()
      throw error
    }
  }

  async function write(run: Run, page: readonly CopiedEvent[]): Promise<void> {
    // As every append does: shown to readers before the transaction gets its number.
    await run('lock table only events in row exclusive mode')
    await numberOf(run, page)
    const newLanes: object[] = []
    const rows = page.map((event, n) => {
      const { conversationId, version, type, schema, at, lane, sums, body, messageId } = event
      const c = conversations.get(conversationId)!
      const checked = { version, at, lane: null, type, message: messageId, body }
      return {
        c,
        v: version,
        n,
        type,
        schema,
        at,
        actor: event.actor,
        channel: event.channel,
        request: event.requestId,
        message: messageId,
        lane: lane && laneFor(c, lane, newLanes),
        ...(sums && { messages: sums[0], tokens: sums[1], input: sums[2], output: sums[3] }),
        crc: event.isDamaged ? wrongChecksum(checked) : checksum(checked),
        salt: event.salt && hex(event.salt),
        body,
        digest: hex(event.digest),
        hash: hex(event.hash),
      }
    })
    if (newLanes.length > 0) {
      await run(
        `insert into lanes (project, conversation, lane, audience_key, kind, audience)
        select $1, x.c, x.lane, x.key, x.kind, x.audience
        from json_to_recordset($2) as x(c bigint, lane integer, key text, kind text, audience text)`,
        [number, JSON.stringify(newLanes)],
      )
    }
    await run(
      `insert into events (project, conversation, version, tx, n, type, schema, at, actor, channel, request, message,
        lane, messages, tokens, input, output, crc, salt, body, digest, hash)
      select $1, x.c, x.v, pg_current_xact_id()::text::bigint + $3, x.n, x.type, x.schema, x.at, x.actor, x.channel,
        x.request, x.message, x.lane, x.messages, x.tokens, x.input, x.output, x.crc, decode(x.salt, 'hex'), x.body,
        decode(x.digest, 'hex'), decode(x.hash, 'hex')
      from json_to_recordset($2) as x(c bigint, v integer, n integer, type text, schema integer, at bigint, actor text,
        channel text, request text, message text, lane integer, messages bigint, tokens bigint, input bigint,
        output bigint, crc bigint, salt text, body text, digest text, hash text)`,
      [number, JSON.stringify(rows), base],
    )
    const uses = page.flatMap(({ conversationId, version, blobs }) =>
      blobs.map(({ digest, json }) => ({ c: conversations.get(conversationId)!, v: version, digest, json })),
    )
    if (uses.length > 0) await putBlobs(run, uses)
  }

  async function putBlobs(run: Run, uses: readonly object[]): Promise<void> {
    const values = [number, JSON.stringify(uses)]
    await run(
      `insert into blobs (project, digest, json)
      select distinct on (x.digest) $1, x.digest, x.json from json_to_recordset($2) as x(digest text, json text)
      on conflict do nothing`,
      values,
    )
    await run(
      `insert into blob_uses (project, digest, conversation, version)
      select $1, x.digest, x.c, x.v from json_to_recordset($2) as x(c bigint, v integer, digest text)`,
      values,
    )
  }

  function laneFor(
    c: number,
    { audienceKey, kind, audience }: NonNullable<CopiedEvent['lane']>,
    made: object[],
  ): number {
    const key = laneKey(c, { kind, audienceKey })
    const known = lanes.get(key)
    if (known !== undefined) return known
    const lane = (newest.get(c) ?? 0) + 1
    newest.set(c, lane)
    lanes.set(key, lane)
    made.push({ c, lane, key: audienceKey, kind, audience })
    return lane
  }

  return {
    done,
    putConversations,
    putEvents,
    async putSessions(sessions) {
      const rows = sessions.map(({ conversationId, key, expiresAt, ...rest }, n) => ({
        ...rest,
        n,
        conversation: conversationId,
        key: hashed(key),
        expires: expiresAt,
      }))
      await database.transaction(run =>
        run(
          `insert into sessions (project, id, conversation, session_key, agent, status, expires_at, compactions, head)
          select $1, x.id, c.conversation, x.key, x.agent, x.status, x.expires, x.compactions, x.head
          from json_to_recordset($2) as x(n integer, id text, conversation text, key text, agent text, status text,
            expires bigint, compactions integer, head text)
          join conversations c on c.project = $1 and c.id = x.conversation order by x.n
          on conflict (project, id) do update set status = excluded.status, expires_at = excluded.expires_at,
            compactions = excluded.compactions, head = excluded.head`,
          [number, JSON.stringify(rows)],
        ),
      )
    },
    async putKeys(keys) {
      await database.transaction(run =>
        run(
          `insert into keys (project, key, digest, conversation_id, first_version, last_version, session_id)
          select $1, x.key, x.digest, x."conversationId", x."firstVersion", x."lastVersion", x."sessionId"
          from json_to_recordset($2) as x(key text, digest text, "conversationId" text, "firstVersion" integer,
            "lastVersion" integer, "sessionId" text) on conflict do nothing`,
          [number, JSON.stringify(keys)],
        ),
      )
    },
    readBack: work => database.transaction(async run => work(await copySource(run, name, project)), { readOnly: true }),
    async publish() {
      await database.transaction(async run => {
        const empty = await refuseHeld(run)
        if (empty !== undefined) {
          for (const table of ['leases', 'search_progress', 'projects']) {
            await run(`delete from ${table} where project = $1`, [empty])
          }
        }
        await run('update projects set id = $2 where project = $1', [number, project])
        await run('delete from meta where name = $1', [marker])
      })
      await database
        .once('analyze conversations, ends, events, lanes, sessions, blobs, blob_uses, keys')
        .catch(() => undefined)
    },
  }
}

function laneKey(conversation: number, { kind, audienceKey }: { kind: string; audienceKey: string }): string {
  return `${conversation} ${kind} ${audienceKey}`
}

export async function discardCopy(database: Database, project: string): Promise<void> {
  await database.transaction(async run => {
    const [found] = await run<[number]>('select project from projects where id = $1', [nameWhileCopied(project)])
    if (!found) return
    await run('update conversations set branch_of = null where project = $1 and branch_of is not null', found)
    for (const table of [
      ...[
        'docs',
        'landmarks',
        'blob_uses',
        'events',
        'lanes',
        'sessions',
        'ends',
        'conversations',
        'blobs',
        'keys',
        'purges',
        'leases',
      ],
      ...['search_progress', 'projects'],
    ]) {
      await run(`delete from ${table} where project = $1`, found)
    }
    await run('delete from meta where name = $1', [`copy ${project}`])
  })
}
