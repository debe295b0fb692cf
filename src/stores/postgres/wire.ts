/**
 * Statements as the protocol has them, all messages of a round trip in one piece of memory: the driver makes a piece of
 * each message, and handing over many pieces takes longer than making one.
 */
import { asSent, type Value } from './value.ts'

export interface Statement {
  /** By which a connection knows it from then on; none behind a pooler, which would hand it to another connection. */
  name: string
  text: string
  values: readonly Value[]
}

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
const handWritten = 40

/** What is being written, and up to where; nobody else runs meanwhile. */
let bytes: Buffer = Buffer.alloc(0)
let at = 0

export function messagesOf(sendings: readonly Sending[]): Buffer {
  const values: Array<Array<string | Buffer | null>> = []
  let room = aroundStatement
  for (const { statement, isKnown } of sendings) {
    room += aroundStatement + 2 * roomOf(statement.name) + (isKnown ? 0 : roomOf(statement.text))
    const sent: Array<string | Buffer | null> = []
    for (const value of statement.values) {
      const one = asSent(value)
      sent.push(one)
      room += aroundValue + (one === null ? 0 : typeof one === 'string' ? roomOf(one) : one.length)
    }
    values.push(sent)
  }
  bytes = Buffer.allocUnsafe(room)
  at = 0
  let index = 0
  for (const { statement, isKnown, isDescribed } of sendings) {
    const { name, text } = statement
    if (!isKnown) {
      const start = begin(code.parse)
      cString(name)
      cString(text)
      int16(0)
      end(start)
    }
    bind(name, values[index++]!)
    if (!isDescribed) {
      const start = begin(code.describe)
      bytes[at++] = code.portal
      bytes[at++] = 0
      end(start)
    }
    const start = begin(code.execute)
    bytes[at++] = 0
    int32(0)
    end(start)
  }
  end(begin(code.sync))
  return bytes.subarray(0, at)
}

function bind(name: string, sent: ReadonlyArray<string | Buffer | null>): void {
  const start = begin(code.bind)
  bytes[at++] = 0
  cString(name)
  int16(sent.length)
  for (const value of sent) int16(value === null || typeof value === 'string' ? 0 : 1)
  int16(sent.length)
  for (const value of sent) {
    if (value === null) int32(-1)
    else if (typeof value === 'string') {
      const length = write(value, at + 4)
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
  const length = at - start
  at = start
  int32(length)
  at = start + length
}

function int16(value: number): void {
  bytes[at++] = value >>> 8
  bytes[at++] = value
}

function int32(value: number): void {
  bytes[at++] = value >>> 24
  bytes[at++] = value >>> 16
  bytes[at++] = value >>> 8
  bytes[at++] = value
}

function cString(text: string): void {
  at += write(text, at)
  bytes[at++] = 0
}

/** Numbers and names are written sign by sign: handing them over to be written takes longer. */
function write(text: string, from: number): number {
  const { length } = text
  if (length > handWritten) return bytes.write(text, from)
  for (let index = 0; index < length; index++) {
    const sign = text.charCodeAt(index)
    if (sign > 0x7f) return bytes.write(text, from)
    bytes[from + index] = sign
  }
  return length
}

function roomOf(text: string): number {
  return text.length < shortText ? text.length * 3 : Buffer.byteLength(text)
}
