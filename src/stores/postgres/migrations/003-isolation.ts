/**
 * Row-level security: a role that does not own the tables sees and writes the rows of the one project its transaction is
 * for, whatever it asks for. The owner, who migrates and maintains, sees all.
 *
 * Which project that is, each transaction says (`?project=` in the URL of the store). That guards against programs that
 * ask for the wrong rows; who can send any SQL they like can also say another project.
 */
const tables = [
  'conversations',
  'lanes',
  'events',
  'sessions',
  'blobs',
  'blob_uses',
  'keys',
  'leases',
  'purges',
  'docs',
  'search_progress',
]

export const isolation: readonly string[] = [
  `alter table projects enable row level security`,
  `create policy one_project on projects using (id = current_setting('colloquy.project', true))`,
  ...tables.flatMap(isolate),
]

/** For a table that came later, too. */
export function isolate(table: string): string[] {
  return [
    `alter table ${table} enable row level security`,
    // Asked once per statement, not once per row.
    `create policy one_project on ${table} using (
      project = (select p.project from projects p where p.id = current_setting('colloquy.project', true)))`,
  ]
}
