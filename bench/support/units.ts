/** Figures for people. */
export function milliseconds(value: number): string {
  return value >= 100 ? `${value.toFixed(0)} ms` : value >= 10 ? `${value.toFixed(1)} ms` : `${value.toFixed(3)} ms`
}

export const perSecond = (value: number) => `${Math.round(value).toLocaleString('en')} msgs/s`

export const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`

export const count = (value: number) => value.toLocaleString('en')
