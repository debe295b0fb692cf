/** A small line chart. The text next to it gives its values. */
import './chart.css'

const width = 220
const height = 44

export function Chart({ label, values }: { label: string; values: ReadonlyArray<number | undefined> }) {
  const known = values.filter(value => value !== undefined && Number.isFinite(value)) as number[]
  const most = Math.max(...known, 0)
  const x = (index: number) => (values.length < 2 ? width : (index / (values.length - 1)) * width)
  const y = (value: number) => height - 2 - (most === 0 ? 0 : (Math.min(value, most) / most) * (height - 6))
  // Missing values are gaps, not zeros.
  let isOpen = false
  let path = ''
  for (const [index, value] of values.entries()) {
    if (value === undefined) {
      isOpen = false
      continue
    }
    path += `${isOpen ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`
    if (!isOpen && values[index + 1] === undefined) path += 'h0.1'
    isOpen = true
  }
  return (
    <svg className="chart" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <line className="chart__ground" x1="0" x2={width} y1={height - 2} y2={height - 2} />
      <path className="chart__line" d={path} />
    </svg>
  )
}
