/** What a row of the timeline can be. */

export type Tone = 'quiet' | 'phase' | 'turn' | 'good' | 'warn' | 'bad'

export type Row =
  | { kind: 'message' }
  | { kind: 'question' }
  | { kind: 'compaction' }
  | { kind: 'loop'; finding: string; agents: readonly string[] }
  /** `detail` is shown on demand; `conversationId` is where it leads. */
  | { kind: 'divider'; tone: Tone; text: string; detail?: string; conversationId?: string; version?: number }
  /** Shown only where everything is. */
  | { kind: 'fact'; text: string }

type DividerRow = Extract<Row, { kind: 'divider' }>

/** @param details those that are said, one below the other */
export function divider(tone: Tone, text: string, ...details: readonly (string | undefined)[]): DividerRow {
  const said = details.filter(detail => detail !== undefined && detail !== '').join('\n\n')
  return { kind: 'divider', tone, text, ...(said !== '' && { detail: said }) }
}

export function fact(text: string): Row {
  return { kind: 'fact', text }
}
