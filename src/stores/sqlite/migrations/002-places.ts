/**
 * Where messages stand, in tables of their own instead of two indexes over the log; `../places.ts` says why. Facts that
 * are not messages are few: they keep an index.
 */
export const places = `
create table places (
  lane integer not null,
  version integer not null,
  -- Running totals of the lane, this message included.
  messages integer not null,
  tokens integer not null,
  input integer not null,
  output integer not null,
  position integer not null,
  primary key (lane, version)
) without rowid;

-- The newest of them, moved to the others many at a time.
create table recent (
  lane integer not null,
  version integer not null,
  messages integer not null,
  tokens integer not null,
  input integer not null,
  output integer not null,
  position integer not null,
  primary key (lane, version)
) without rowid;

-- What is damaged is passed over here, and named by verify.
insert or ignore into places (lane, version, messages, tokens, input, output, position)
select lane, version, messages, tokens, input, output, position from events
where lane is not null order by lane, version;

drop index events_by_version;
drop index events_by_lane;
create unique index facts_by_version on events (conversation, version) where lane is null;

create trigger message_stands after insert on events when new.lane is not null begin
  insert into recent (lane, version, messages, tokens, input, output, position)
  values (new.lane, new.version, new.messages, new.tokens, new.input, new.output, new.position);
end;
`

/** The same for reading a file of schema 1 that must not be written to. */
export const placesInOlderFile = `
create temp view places as
select lane, version, messages, tokens, input, output, position from events where lane is not null;
create temp view recent as
select lane, version, messages, tokens, input, output, position from events where 0;
`
