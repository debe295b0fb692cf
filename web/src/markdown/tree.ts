/** What Markdown means, as data. There is no node for raw HTML: it is text like any other. */

export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  | { type: 'strong' | 'emphasis' | 'deleted'; children: readonly Inline[] }
  /** `isBare`: its words are its target. */
  | { type: 'link'; target: string; title?: string; isBare?: true; children: readonly Inline[] }
  | { type: 'image'; target: string; title?: string; text: string }
  | { type: 'break' }

export interface ListItem {
  /** Of a task list. */
  checked?: boolean
  children: readonly Block[]
}

export type Block =
  | { type: 'paragraph'; children: readonly Inline[] }
  | { type: 'heading'; level: number; children: readonly Inline[] }
  /** `language`: all that stands behind the opening fence. */
  | { type: 'code'; language: string; text: string }
  | { type: 'quote'; children: readonly Block[] }
  | { type: 'list'; start: number | undefined; items: readonly ListItem[] }
  | { type: 'table'; head: readonly (readonly Inline[])[]; rows: readonly (readonly (readonly Inline[])[])[] }
  | { type: 'rule' }
