/** Makes a closed file of today into one that the first schema left: to see that it is brought up to date, or read as it is. */
import { DatabaseSync } from '@photostructure/sqlite'

export function toFirstSchema(path: string): void {
  const database = new DatabaseSync(path)
  try {
    database.exec(`
      drop table nodes;
      drop index conversations_by_work_state;
      drop index conversations_unreadable;
      drop index tasks_by_feature;
      drop index conversations_due;
      alter table conversations drop column due_at;
      drop trigger message_stands;
      drop table places;
      drop table recent;
      drop index facts_by_version;
      create unique index events_by_version on events (conversation, version);
      create unique index events_by_lane on events (lane, version, messages, tokens, input, output) where lane is not null;
      pragma user_version = 1`)
  } finally {
    database.close()
  }
}
