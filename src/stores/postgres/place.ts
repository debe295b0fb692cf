/** Where a store is: a URL of a database, and the schema in it that is ours. */
import { StoreUnusable } from '../../errors.ts'

export interface Place {
  /** For the driver, without what only we understand. */
  connectionString: string
  schema: string
  /** The one project that the connections are for, where the role may see no other. */
  project: string | undefined
  /** For people and traces: without user and password. */
  name: string
}

const defaultSchema = 'colloquy'

/** @throws {StoreUnusable} when the URL is none */
export function placeOf(url: string): Place {
  const [address = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  const schema = parameters.get('schema') ?? defaultSchema
  const project = parameters.get('project') ?? undefined
  for (const ours of ['schema', 'project']) parameters.delete(ours)
  const name = `${address.replace(/\/\/[^@/]*@/, '//')} schema ${schema}`
  // It stands in a setting of the connection, unquoted.
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new StoreUnusable(`"${schema}" cannot be the name of a schema here: small letters, digits and _ only.`, {
      schema,
    })
  }
  const rest = parameters.toString()
  return { connectionString: rest === '' ? address : `${address}?${rest}`, schema, project, name }
}
