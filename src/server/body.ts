/** Takes in the body of a request: bounded, JSON, not nested too deep. */
import type { Context } from 'hono'
import { BodyTooLarge, InvalidInput, NotJson } from '../errors.ts'
import type { Limits } from './settings.ts'

/** Undefined when there is none. */
export async function readBody(context: Context, { bodyBytes, depth }: Limits): Promise<unknown> {
  const text = await readText(context, bodyBytes)
  if (text === '') return undefined
  refuseDepth(text, depth)
  try {
    return JSON.parse(text)
  } catch {
    throw new NotJson('The body is not JSON.', 400)
  }
}

async function readText(context: Context, limit: number): Promise<string> {
  const length = context.req.header('content-length')
  if (length !== undefined) {
    if (Number(length) > limit) throw new BodyTooLarge(limit)
    // The connection is cut when more comes than was said.
    return context.req.text()
  }
  const body = context.req.raw.body
  if (!body) return ''
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.byteLength
    if (size > limit) {
      reader.cancel().catch(() => undefined)
      throw new BodyTooLarge(limit)
    }
    chunks.push(value)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** One pass over the text, before anything is built of it: a parser may run out of stack where this does not. */
function refuseDepth(text: string, deepest: number): void {
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (isInString) {
      if (character === 0x5c) at++
      else if (character === 0x22) isInString = false
    } else if (character === 0x22) isInString = true
    else if (character === 0x7b || character === 0x5b) {
      if (++depth > deepest) throw new InvalidInput('body', `must not be nested deeper than ${deepest} levels`)
    } else if (character === 0x7d || character === 0x5d) depth--
  }
}
