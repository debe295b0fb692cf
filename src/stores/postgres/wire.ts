/**
 * Statements as the protocol has them, all messages of a round trip in one piece of memory: the driver makes a piece of
 * each message, and handing over many pieces takes longer than making one.
 */
import type { Statement } from './exchange.ts'
import { asSent } from './value.ts'

export interface Sending {
  statement: Statement
  /** Whether the connection knows it by its name. */
  isKnown: boolean
  /** Whether what its rows look like is known. */
  isDescribed: boolean
}

const code = { parse: 0x50, bind: 0x42, describe: 0x44, execute: 0x45, sync: 0x53, portal: 0x50 } as const
/** More than a statement's messages take beside names, texts and values. */
const aroundStatement = 64
const aroundValue = 6
/** Measuring a text costs as much as writing it; a short one is given the most room it can take. */
const shortText = 1024

export function messagesOf(sendings: readonly Sending[]): Buffer {
  const values = sendings.map(({ statement }) => statement.values.map(asSent))
  let room = aroundStatement
  for (const [index, { statement, isKnown }] of sendings.entries()) {
    room += aroundStatement + 2 * roomOf(statement.name) + (isKnown ? 0 : roomOf(statement.text))
    for (const value of values[index]!) {
      room += aroundValue + (value === null ? 0 : typeof value === 'string' ? roomOf(value) : value.length)
    }
  }
  const bytes = Buffer.allocUnsafe(room)
  let at = 0

  for (const [index, { statement, isKnown, isDescribed }] of sendings.entries()) {
    const { name, text } = statement
    if (!isKnown) {
      const start = begin(code.parse)
      cString(name)
      cString(text)
      int16(0)
      end(start)
    }
    bind(name, values[index]!)
    if (!isDescribed) {
      const start = begin(code.describe)
      bytes[at++] = code.portal
      cString('')
      end(start)
    }
    const start = begin(code.execute)
    cString('')
    int32(0)
    end(start)
  }
  end(begin(code.sync))
  return bytes.subarray(0, at)

  function bind(name: string, sent: ReadonlyArray<string | Buffer | null>): void {
    const start = begin(code.bind)
    cString('')
    cString(name)
    int16(sent.length)
    for (const value of sent) int16(value === null || typeof value === 'string' ? 0 : 1)
    int16(sent.length)
    for (const value of sent) {
      if (value === null) int32(-1)
      else if (typeof value === 'string') {
        const length = bytes.write(value, at + 4)
        int32(length)
        at += length
      } else {
        int32(value.length)
        bytes.set(value, at)
        at += value.length
      }
    }
    // All columns come as text.
    int16(1)
    int16(0)
    end(start)
  }

  function begin(what: number): number {
    bytes[at] = what
    at += 5
    return at - 4
  }

  /** Its length stands behind its code, and counts itself. */
  function end(start: number): void {
    bytes.writeInt32BE(at - start, start)
  }

  function int16(value: number): void {
    at = bytes.writeInt16BE(value, at)
  }

  function int32(value: number): void {
    at = bytes.writeInt32BE(value, at)
  }

  function cString(text: string): void {
    at += bytes.write(text, at)
    bytes[at++] = 0
  }
}

function roomOf(text: string): number {
  return text.length < shortText ? text.length * 3 : Buffer.byteLength(text)
}
