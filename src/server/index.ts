/** The door of the server: make one over an open store, let it listen, stop it. */

export type { Limits, ServerOptions } from '../app/configuration/server-settings.ts'
export type { Principal, TokenScope } from './access/principal.ts'
export { type BookEntry, newToken, ownersToken, type TokenBook, tokenBook, tokenPlace } from './access/tokens.ts'
export { type ColloquyServer, type CreateServer, createServer } from './app.ts'
export type { Endpoint } from './contract/endpoint.ts'
export { contract, endpoints, type NamedEndpoint } from './contract/index.ts'
export { type Listen, listen, type RunningServer } from './listener.ts'
export { description } from './pages/openapi.ts'
export type { ServerSettings } from './settings.ts'
