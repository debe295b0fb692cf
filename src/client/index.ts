/** The typed client of the API, for browsers and Node: the contract's endpoints as functions. */

export type { CallOptions } from './call.ts'
export { type Client, type ClientOptions, connect } from './client.ts'
export { ApiError } from './error.ts'
export type { LiveEvent, LiveOptions, LiveWords } from './live.ts'
export type * from './types.ts'
