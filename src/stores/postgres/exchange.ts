/**
 * One round trip: a statement, several, or one with settings that hold for it alone. All of it is sent before the server
 * is asked to answer, so it is one transaction, the server wakes once, and so does this process.
 *
 * The driver can be handed something that writes to the connection itself. Its own statements send one thing at a time,
 * ask for a description of rows that we know, and take longer to make than ours take to send.
 */
import pg from 'pg'
import { messagesOf, type Sending, type Statement } from './wire.ts'

/** What of a connection of the driver's is used. */
interface Wire {
  stream: { write(bytes: Uint8Array): unknown }
  /** Statements that it knows by name. */
  parsedStatements: Record<string, string | undefined>
  sendCopyFail(message: string): void
}

type Parse = (text: string) => unknown

/** How to read the rows of statements that were described once: what a statement gives does not change. */
const described = new Map<string, readonly Parse[]>()

/** Numbers of rows and transactions come as 64 bits; they stay far below what a JavaScript number holds. */
export const int8 = 20

export class Exchange {
  /** The driver notes under this name that the connection knows the statement. */
  readonly name: string | undefined
  readonly text: string
  callback: ((error: Error | null, answers?: unknown[][][]) => void) | undefined
  readonly #settings: Statement | undefined
  readonly #statements: readonly Statement[]
  readonly #answers: unknown[][][] = []
  #rows: unknown[][] = []
  #parses: readonly Parse[] | undefined
  #isInSettings: boolean
  #failure: Error | undefined

  /** Of several that are named, the connection must be ended when one fails: nobody knows then which names it has. */
  constructor(
    statements: readonly [Statement, ...Statement[]],
    settings?: { text: string; values: readonly string[] },
  ) {
    this.#statements = statements
    this.#settings = settings && { ...settings, name: '' }
    this.#isInSettings = settings !== undefined
    this.name = statements.length === 1 ? statements[0].name : undefined
    this.text = statements[0].text
  }

  submit(connection: Wire): Error | null {
    const sendings: Sending[] = []
    if (this.#settings) sendings.push(sendingOf(this.#settings, false))
    const sent = new Set<string>()
    for (const statement of this.#statements) {
      const { name } = statement
      const isKnown = name !== '' && (connection.parsedStatements[name] !== undefined || sent.has(name))
      if (this.#statements.length > 1) sent.add(name)
      sendings.push(sendingOf(statement, isKnown))
    }
    connection.stream.write(messagesOf(sendings))
    this.#begin()
    return null
  }

  #begin(): void {
    const { text } = this.#isInSettings ? this.#settings! : (this.#statements[this.#answers.length] ?? this)
    this.#rows = []
    this.#parses = described.get(text)
  }

  handleRowDescription({ fields }: { fields: ReadonlyArray<{ dataTypeID: number }> }): void {
    const parses = fields.map(({ dataTypeID }): Parse => {
      return dataTypeID === int8 ? Number : (pg.types.getTypeParser(dataTypeID, 'text') as Parse)
    })
    this.#parses = parses
    const { text, name } = this.#isInSettings ? this.#settings! : this.#statements[this.#answers.length]!
    // Statements without a name may be anything; only ours are worth remembering.
    if (name !== '') described.set(text, parses)
  }

  handleDataRow({ fields }: { fields: ReadonlyArray<string | null> }): void {
    if (this.#isInSettings || this.#failure) return
    try {
      const parses = this.#parses!
      const row: unknown[] = new Array(fields.length)
      for (let index = 0; index < fields.length; index++) {
        const field = fields[index]!
        row[index] = field === null ? null : parses[index]!(field)
      }
      this.#rows.push(row)
    } catch (error) {
      this.#failure = error as Error
    }
  }

  handleCommandComplete(): void {
    if (this.#isInSettings) this.#isInSettings = false
    else this.#answers.push(this.#rows)
    this.#begin()
  }

  handleReadyForQuery(connection: Wire): void {
    if (this.#failure) {
      this.handleError(this.#failure)
      return
    }
    for (const { name, text } of this.#statements) if (name !== '') connection.parsedStatements[name] = text
    this.callback?.(null, this.#answers)
  }

  handleError(error: Error): void {
    this.callback?.(error)
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete()
  }

  handlePortalSuspended(): void {
    // All rows are asked for at once.
  }

  handleCopyInResponse(connection: Wire): void {
    connection.sendCopyFail('nothing is copied')
  }

  handleCopyData(): void {
    // Nothing is copied.
  }
}

function sendingOf(statement: Statement, isKnown: boolean): Sending {
  return { statement, isKnown, isDescribed: described.has(statement.text) }
}
