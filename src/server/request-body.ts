/** Reads the body of a request: JSON of limited size and nesting. */
import type { IncomingMessage } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import type { Limits } from '../app/configuration/server-settings.ts'
import { BodyTooLarge, InvalidInput, NotJson } from '../errors.ts'

/** Returns undefined when there is no body. */
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
    let isComplete = false
    // A complete body is closed, too.
    const refuse = () => {
      if (!isComplete) reject(new NotJson('The body is incomplete: the connection ended early.', 400))
    }
    incoming.on('data', take)
    incoming.on('end', () => {
      isComplete = true
      resolve((chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString('utf8'))
    })
    incoming.on('error', refuse)
    incoming.on('close', refuse)
  })
}

/** Runs before the parser, which runs out of stack on deep nesting. */
function refuseDepth(text: string, maxDepth: number): void {
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (isInString) {
      if (character === 0x5c) at++
      else if (character === 0x22) isInString = false
    } else if (character === 0x22) isInString = true
    else if (character === 0x7b || character === 0x5b) {
      if (++depth > maxDepth) throw new InvalidInput('body', `must not be nested deeper than ${maxDepth} levels`)
    } else if (character === 0x7d || character === 0x5d) depth--
  }
}
