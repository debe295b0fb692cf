/**
 * Where a message stands, as words of the index: a search in one conversation looks at what is there and at nothing else,
 * however much the store holds.
 */
export function marksOf(project: number, conversation: number): string {
  return `${projectMark(project)} ${conversationMark(conversation)}`
}

export function projectMark(project: number): string {
  return `p${project}`
}

export function conversationMark(conversation: number): string {
  return `c${conversation}`
}

/** What to look for in the index so that texts match it, those with a mark if one is given. */
export function textsLike(match: string, mark?: string): string {
  return mark === undefined ? `text : (${match})` : `place : "${mark}" AND text : (${match})`
}
