/** The tree of parsed Markdown. There is no node for raw HTML: it is text. */

export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  | { type: 'strong' | 'emphasis' | 'deleted'; children: readonly Inline[] }
  /** `isBare`: the link text is its target. */
  | { type: 'link'; target: string; title?: string; isBare?: true; children: readonly Inline[] }
  | { type: 'image'; target: string; title?: string; text: string }
  | { type: 'break' }

export interface ListItem {
  /** Set for items of a task list. */
  checked?: boolean
  children: readonly Block[]
}

export type Block =
  | { type: 'paragraph'; children: readonly Inline[] }
  | { type: 'heading'; level: number; children: readonly Inline[] }
  /** `language`: everything behind the opening fence. */
  | { type: 'code'; language: string; text: string }
  | { type: 'quote'; children: readonly Block[] }
  | { type: 'list'; start: number | undefined; items: readonly ListItem[] }
  | { type: 'table'; head: readonly (readonly Inline[])[]; rows: readonly (readonly (readonly Inline[])[])[] }
  | { type: 'rule' }
