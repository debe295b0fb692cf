/**
 * A statement with settings that hold for it alone, in one round trip: both are sent before the server is asked to answer,
 * so they are one transaction, and a pooler cannot give one of them to another connection of the server.
 *
 * It has no name: a pooler would hand the next statement of that name to a connection that does not know it.
 */
import pg from 'pg'

/** What the driver's own statements use of a connection. */
interface Wire {
  parse(message: { text: string; name: string; types?: number[] }): void
  bind(message: { portal: string; statement: string; values: readonly string[] }): void
  execute(message: { portal: string; rows: number }): void
}

interface Driver {
  prepare(connection: Wire): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Wire): void
}

/** The driver's types leave out what a statement of one's own has to change. */
const DriverQuery = pg.Query as unknown as new (config: pg.QueryArrayConfig) => Driver

export class LocalQuery extends DriverQuery {
  readonly #settings: { text: string; values: string[] }
  #isSet = false

  constructor(config: { text: string; values: unknown[] }, settings: { text: string; values: string[] }) {
    // `extended`, because without values the driver would send the words alone.
    super({ ...config, rowMode: 'array', queryMode: 'extended' } as pg.QueryArrayConfig)
    this.#settings = settings
  }

  override prepare(connection: Wire): void {
    const { text, values } = this.#settings
    connection.parse({ text, name: '' })
    connection.bind({ portal: '', statement: '', values })
    connection.execute({ portal: '', rows: 0 })
    super.prepare(connection)
  }

  override handleDataRow(message: unknown): void {
    if (this.#isSet) super.handleDataRow(message)
  }

  override handleCommandComplete(message: unknown, connection: Wire): void {
    if (this.#isSet) super.handleCommandComplete(message, connection)
    this.#isSet = true
  }
}
