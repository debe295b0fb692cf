/** Handlers of a resource: for each endpoint a function from a validated call to an answer. */
import type { Context } from 'hono'
import type { z } from 'zod'
import type { Colloquy } from '../index.ts'
import type { WriteOptions } from '../log/engine.ts'
import type { Principal } from './access/principal.ts'
import type { Endpoint } from './contract/endpoint.ts'
import type { Contract } from './contract/index.ts'
import type { ServerParts } from './server-parts.ts'

export interface Call<E extends Endpoint> {
  params: z.output<E['params']>
  query: z.output<E['query']>
  body: z.output<E['body']>
  /** The store in the project of the request, with its principal as the actor. */
  colloquy: Colloquy
  write: WriteOptions
  principal: Principal
  server: ServerParts
  context: Context
}

/** Returns the answer, or a response if the answer is no JSON document. */
export type Handler<E extends Endpoint> = (call: Call<E>) => Promise<z.input<E['answer']> | Response>

export type Handlers<R extends keyof Contract> = {
  [N in keyof Contract[R]]: Contract[R][N] extends Endpoint ? Handler<Contract[R][N]> : never
}
