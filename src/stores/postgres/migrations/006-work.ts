/** Work items by where they stand: what their heads say, in columns. */
export const work: readonly string[] = [
  `alter table conversations add column work_state text collate "C", add column work_priority smallint,
    add column work_feature text collate "C"`,
  `create index conversations_by_work_state on conversations
    (project, work_type, work_state, work_priority, created_at, conversation) where work_state is not null`,
  `create index tasks_by_feature on conversations (project, work_feature, conversation) where work_feature is not null`,
]
