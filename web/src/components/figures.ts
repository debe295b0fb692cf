/** Numbers as people read them. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** `12,345` */
export function count(value: number): string {
  return whole.format(value)
}

/** `812`, `12.3k`, `4.1M`: where room is short and the exact figure stands elsewhere. */
export function brief(value: number): string {
  if (Math.abs(value) < 1000) return whole.format(value)
  const [unit, sign] = Math.abs(value) < 999_500 ? [1000, 'k'] : [1_000_000, 'M']
  const scaled = value / unit!
  return `${scaled.toFixed(Math.abs(scaled) < 9.95 ? 1 : 0)}${sign}`
}

/** `240 ms`, `1.2 s`, `3 min`, `2 h` */
export function duration(milliseconds: number): string {
  if (milliseconds < 1) return `${milliseconds.toFixed(1)} ms`
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`
  if (milliseconds < 3_570_000) return `${Math.round(milliseconds / 60_000)} min`
  return `${Math.round(milliseconds / 3_600_000)} h`
}

/** `1 message`, `2 messages` */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}
