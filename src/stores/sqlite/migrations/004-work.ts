/**
 * Work items by where they stand. Expressions over the head and no columns: a head that is written is found by what it
 * says now, and a file of an older schema answers the same questions, only slower.
 */
const inHead = (path: string) => `iif(json_valid(info), json_extract(info, '${path}'), null)`

export const workColumns = {
  state: inHead('$.work.state'),
  /** Tasks have none of their own here: their graph does. */
  priority: `coalesce(${inHead('$.work.priority')}, 0)`,
  feature: inHead('$.workItem.featureId'),
}

export const isWork = `work_type in ('feature', 'task', 'bead')`

/** Of a head that says nothing any more, and must be folded again to know where its work stands. Hardly ever true. */
export const isUnreadable = 'not json_valid(info)'

export const work = `
create index conversations_by_work_state
on conversations (project, work_type, ${workColumns.state}, ${workColumns.priority}, created_at, conversation) where ${isWork};
create index conversations_unreadable on conversations (conversation) where ${isUnreadable};
create index tasks_by_feature on conversations (project, ${workColumns.feature}, conversation) where work_type = 'task';
`
