/** The kinds of rows in the timeline. */

export type Tone = 'quiet' | 'phase' | 'turn' | 'good' | 'warn' | 'bad'

export type Row =
  | { kind: 'message' }
  | { kind: 'question' }
  | { kind: 'compaction' }
  | { kind: 'loop'; finding: string; agents: readonly string[] }
  /** `detail` is shown on demand; `conversationId` is the link target. */
  | { kind: 'divider'; tone: Tone; text: string; detail?: string; conversationId?: string; version?: number }
  /** Shown only in the full log. */
  | { kind: 'fact'; text: string }

type DividerRow = Extract<Row, { kind: 'divider' }>

/** @param details shown one below the other; undefined ones are left out */
export function divider(tone: Tone, text: string, ...details: readonly (string | undefined)[]): DividerRow {
  const said = details.filter(detail => detail !== undefined && detail !== '').join('\n\n')
  return { kind: 'divider', tone, text, ...(said !== '' && { detail: said }) }
}

export function fact(text: string): Row {
  return { kind: 'fact', text }
}
