/**
 * When somebody should look after a conversation; what a branch hangs on; and the facts that are not messages, which are
 * few among many.
 */
export const teamsAndBranches: readonly string[] = [
  // The parent cannot be removed while a branch is there, nor a branch be written while its parent is being removed.
  `alter table conversations add column due_at bigint, add column branch_of bigint, add column branch_version integer,
    add foreign key (project, branch_of) references conversations (project, conversation)`,
  `create index conversations_due on conversations (project, due_at, conversation) where due_at is not null`,
  `create index conversations_by_parent on conversations (project, branch_of) where branch_of is not null`,
  `create index facts_by_version on events (project, conversation, version) where lane is null`,
]
