/**
 * An endpoint of the API: the server validates by it, the client calls by it, and the description is made from it. It
 * also runs in browsers, so it imports nothing of Node or the server.
 */
import { z } from 'zod'

/** The scope a token needs; 'open' needs no token. */
export type AccessScope = 'open' | 'read' | 'write' | 'admin'

export interface Endpoint<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
  Answer extends z.ZodType = z.ZodType,
> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** With parameters in braces: `/api/v1/projects/{project}/sessions/{sessionId}`. */
  readonly path: string
  readonly scope: AccessScope
  readonly summary: string
  readonly params: Params
  readonly query: Query
  /** `z.undefined()` where there is none. */
  readonly body: Body
  readonly answer: Answer
  readonly status: 200 | 201 | 202
  /** Set if the status depends on the answer. */
  readonly statusOf?: (answer: z.input<Answer>) => number
  /** Takes `Idempotency-Key`: repeated with the same key it gives the first result. */
  readonly keyed: boolean
  /** The answer is no JSON document but a stream of this media type. */
  readonly streams?: string
  /** Errors also have the member `error`, as in Loom. */
  readonly loomErrors?: boolean
}

type Given<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType, A extends z.ZodType> = Pick<
  Endpoint,
  'method' | 'path' | 'scope' | 'summary'
> &
  Partial<Pick<Endpoint, 'status' | 'keyed' | 'streams' | 'loomErrors'>> & {
    params?: P
    query?: Q
    body?: B
    answer: A
    statusOf?: (answer: z.input<A>) => number
  }

const none = z.object({})

/** Makes an endpoint, with defaults for what is left out. */
export function endpoint<
  P extends z.ZodObject = typeof none,
  Q extends z.ZodObject = typeof none,
  B extends z.ZodType = z.ZodUndefined,
  A extends z.ZodType = z.ZodType,
>(given: Given<P, Q, B, A>): Endpoint<P, Q, B, A> {
  return {
    status: 200,
    keyed: false,
    ...given,
    params: given.params ?? (none as unknown as P),
    // Made strict once, here: doing so for each request would compile the schema for each request.
    query: (given.query ?? none).strict() as unknown as Q,
    body: given.body ?? (z.undefined() as unknown as B),
  }
}

/** Input of a call: the parameters of the path by name, the query, the body. */
export type CallOf<E extends Endpoint> = Named<z.input<E['params']>> &
  ('project' extends keyof z.input<E['params']> ? { project?: string } : unknown) &
  (Record<never, never> extends z.input<E['query']>
    ? { query?: z.input<E['query']> }
    : { query: z.input<E['query']> }) &
  (undefined extends z.input<E['body']> ? { body?: z.input<E['body']> } : { body: z.input<E['body']> })

/** Without path parameters, `Omit` would refuse every name, `query` and `body` too. */
type Named<Params> = string extends keyof Params ? unknown : Omit<Params, 'project'>

export type AnswerOf<E extends Endpoint> = z.output<E['answer']>
