/** When somebody should look after a conversation: a phase or turn that times out, work that is out of the house. */
export const due = `
alter table conversations add column due_at integer;
create index conversations_due on conversations (project, due_at) where due_at is not null;
`
