/** Marks by which the indexes of words and titles are searched within one project or conversation. */
import { trigramsOf } from '../common/search-text/search-terms.ts'

const longestTitle = 300

/** No word has this sign in it. */
export function projectMark(project: number): string {
  return `#p${project}`
}

export function conversationMark(conversation: number): string {
  return `#c${conversation}`
}

/** The trigrams of a title, with the mark of its project. */
export function titleGrams(project: number, title: string): string[] {
  return [projectMark(project), ...trigramsOf(title.slice(0, longestTitle))]
}
