/**
 * The project and the conversation of a message, as words of the index: a search in one conversation reads nothing else,
 * however large the store is.
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

/** A query that texts match, or those texts that have a mark. */
export function textsLike(match: string, mark?: string): string {
  return mark === undefined ? `text : (${match})` : `place : "${mark}" AND text : (${match})`
}
