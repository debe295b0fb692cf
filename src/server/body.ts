/** Takes in the body of a request: bounded, JSON, not nested too deep. */
import type { IncomingMessage } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import type { Limits } from '../app/configuration/server-settings.ts'
import { BodyTooLarge, InvalidInput, NotJson } from '../errors.ts'

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
  if (length !== undefined && Number(length) > limit) throw new BodyTooLarge(limit)
  const { incoming } = (context.env ?? {}) as Partial<HttpBindings>
  // From the socket itself: a web stream around it would be built for a single piece of text.
  if (incoming) return incomingText(incoming as IncomingMessage, limit)
  const text = await context.req.text()
  if (Buffer.byteLength(text) > limit) throw new BodyTooLarge(limit)
  return text
}

function incomingText(incoming: IncomingMessage, limit: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) {
        chunks.push(chunk)
        return
      }
      incoming.off('data', take)
      reject(new BodyTooLarge(limit))
    }
    let isWhole = false
    // A body that came whole is closed too: an error nobody sees would cost more than reading it.
    const cutOff = () => {
      if (!isWhole) reject(new NotJson('The body ended before it was whole.', 400))
    }
    incoming.on('data', take)
    incoming.on('end', () => {
      isWhole = true
      resolve((chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString('utf8'))
    })
    incoming.on('error', cutOff)
    incoming.on('close', cutOff)
  })
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
