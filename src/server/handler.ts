/** What a resource hands to the server: for each of its endpoints a function from a checked call to an answer. */
import type { Context } from 'hono'
import type { z } from 'zod'
import type { Colloquy } from '../index.ts'
import type { WriteOptions } from '../log/engine.ts'
import type { Principal } from './access/principal.ts'
import type { ServerParts } from './context.ts'
import type { Endpoint } from './contract/endpoint.ts'
import type { Contract } from './contract/index.ts'

export interface Call<E extends Endpoint> {
  params: z.output<E['params']>
  query: z.output<E['query']>
  body: z.output<E['body']>
  /** The store as the one who asks, through HTTP, in the project that is meant. */
  colloquy: Colloquy
  write: WriteOptions
  principal: Principal
  server: ServerParts
  context: Context
}

/** The answer, or a response of its own for what is no JSON document. */
export type Handler<E extends Endpoint> = (call: Call<E>) => Promise<z.input<E['answer']> | Response>

export type Handlers<R extends keyof Contract> = {
  [N in keyof Contract[R]]: Contract[R][N] extends Endpoint ? Handler<Contract[R][N]> : never
}
