/** Who said something where, and in which phase. */
export const searchFilters: readonly string[] = [
  `create index docs_by_author on docs (project, author, conversation)`,
  `create index phases_by_version on events (project, conversation, version)
    where type in ('conversation.created', 'phase.changed')`,
  // Messages had the phase of the moment they were taken in; the next feed takes them in with that of their own time.
  `truncate docs, search_progress`,
]
