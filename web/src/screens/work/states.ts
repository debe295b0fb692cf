/** Colours of work states. The word always accompanies the colour. */
type Tone = 'plain' | 'accent' | 'note' | 'good' | 'warn' | 'bad'

const tones: Readonly<Record<string, Tone>> = {
  planning: 'plain',
  open: 'plain',
  in_progress: 'accent',
  in_dev: 'accent',
  dev_complete: 'note',
  in_qa: 'note',
  qa_complete: 'note',
  ready_for_merge: 'warn',
  merged: 'good',
  done: 'good',
  stopped: 'warn',
  parked: 'warn',
  blocked: 'bad',
  failed: 'bad',
}

export function toneOf(state: string): Tone {
  return tones[state] ?? 'plain'
}

export function badgeOf(state: string): string {
  const tone = toneOf(state)
  return tone === 'plain' ? 'badge' : `badge badge--${tone}`
}

/** Formats a state for display: `ready_for_merge` becomes "ready for merge". */
export function stateName(state: string): string {
  return state.replaceAll('_', ' ')
}
