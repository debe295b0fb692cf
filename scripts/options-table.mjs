/** Tables of the options for the documentation, from their schemas: name, default, description. */
import { tsImport } from 'tsx/esm/api'

export async function readOptions() {
  const load = path => tsImport(`../src/${path}`, import.meta.url)
  const { OpenOptions, Configuration } = await load('app/configuration/options.ts')
  const { unwrapped } = await load('log/commands/input.ts')
  const rows = rowsOf(OpenOptions, Configuration, '')
  const shown = new Set()

  function rowsOf(schema, writable, above) {
    return Object.entries(schema.shape).flatMap(([key, field]) => {
      const name = above + key
      const plain = groupIn(field)
      const written = writable?.shape[key]
      const row = { name, above, default: defaultOf(key, field), text: textOf(field, !written) }
      return [row, ...(plain ? rowsOf(plain, written && groupIn(written), `${name}.`) : [])]
    })
  }

  /** The options inside an option, if it is a group. A group may be switched off: then it is a union. */
  function groupIn(field) {
    const plain = unwrapped(field)
    const candidates = plain.def.type === 'union' ? plain.options.map(unwrapped) : [plain]
    return candidates.find(
      ({ def }) => def.type === 'object' && Object.values(def.shape).some(({ description }) => description),
    )
  }

  return {
    table(names) {
      const chosen = names.flatMap(name =>
        name.endsWith('.*')
          ? rows.filter(({ above }) => above === name.slice(0, -1))
          : rows.filter(row => row.name === name),
      )
      for (const { name } of chosen) shown.add(name)
      const lines = chosen.map(row => `| \`${row.name}\` | ${row.default} | ${row.text} |`)
      return ['| option | default | |', '|---|---|---|', ...lines, ''].join('\n')
    },
    get missing() {
      return rows.map(({ name }) => name).filter(name => !shown.has(name))
    },
  }
}

function textOf(field, isInCodeOnly) {
  if (!field.description) throw new Error('An option has no description.')
  return isInCodeOnly ? `${field.description} In code only.` : field.description
}

function defaultOf(key, field) {
  const { shownDefault } = field.meta() ?? {}
  if (shownDefault !== undefined) return shownDefault
  const value = field.parse(undefined)
  if (value === undefined) return '–'
  if (value !== null && typeof value === 'object') return wholeOf(value)
  if (typeof value === 'number') return numberOf(key, value)
  return `\`${typeof value === 'string' ? `'${value}'` : value}\``
}

/** A group has the defaults of its fields. */
function wholeOf(value) {
  if ('name' in value) return `\`'${value.name}'\``
  return Object.keys(value).length === 0 ? 'none' : 'see below'
}

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]

function numberOf(key, value) {
  if (key.endsWith('Bytes') || key === 'bodyBytes') return `${value / 1024 / 1024} MB`
  const [unit, size] =
    (key.endsWith('Ms') && value > 0 && units.find(([, size]) => value >= size && value % size === 0)) || []
  if (!unit) return value < 10_000 ? `${value}` : value.toLocaleString('en')
  return value === size ? `1 ${unit}` : `${value / size} ${unit}s`
}
