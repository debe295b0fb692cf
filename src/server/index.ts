/** The door of the server: make one over an open store, let it listen, stop it. */
export { type ColloquyServer, type CreateServer, createServer } from './app.ts'
export type { Endpoint } from './contract/endpoint.ts'
export { contract, endpoints, type NamedEndpoint } from './contract/index.ts'
export { description } from './description.ts'
export type { Principal, TokenScope } from './principal.ts'
export type { Limits, ServerSettings, ServerSettingsInput } from './settings.ts'
export { type Listen, listen, type RunningServer } from './start.ts'
export { type BookEntry, newToken, ownersToken, type TokenBook, tokenBook, tokenPlace } from './tokens.ts'
