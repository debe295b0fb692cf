/** Settings of the server with their defaults: those of the configuration file, and the options of `createServer`. */
import type { Logger } from 'pino'
import { z } from 'zod'
import { DurationMs } from '../../log/commands/duration.ts'

const Count = z.int().positive()

export const Limits = z.strictObject({
  bodyBytes: Count.default(33 * 1024 * 1024).describe(
    "Maximum size of a request's body: the largest message, escaped.",
  ),
  depth: Count.default(100).describe('Maximum nesting of JSON.'),
  streams: Count.default(2000).describe('Maximum number of live streams at a time.'),
  requestsPerSecond: Count.nullable()
    .default(5000)
    .describe('Maximum requests per second and token, with bursts of twice as many; `null` for no limit.'),
})
export type Limits = z.output<typeof Limits>

const common = {
  hosts: z
    .array(z.string().min(1))
    .default([])
    .describe('Further names of the server in the Host header, such as `colloquy.local:7333`.'),
  origins: z.array(z.string().min(1)).default([]).describe('Further origins whose pages may call the API.'),
  basePath: z
    .string()
    .regex(/^[\w/.~-]*$/, 'must be a plain path such as /colloquy')
    .default('')
    .describe('Path below which a proxy in front serves it.'),
  limits: Limits.prefault({}).describe('Limits of requests and live streams.'),
}

/** Settings of `colloquy serve`. */
export const ServeSettings = z.strictObject({
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on.'),
  port: z.int().min(0).max(65_535).default(7333).describe('Port to listen on; 0 for any that is free.'),
  allowOutside: z.boolean().default(false).describe('Allows an address that other machines can reach.'),
  tokenFile: z
    .string()
    .min(1)
    .optional()
    .describe('File of the token; made if it is missing. Default: `token` next to the store.'),
  ...common,
  traceLevel: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Level of the messages on stderr.'),
  spans: z.boolean().default(false).describe('Reports appends, requests, compactions and runs to OpenTelemetry.'),
})

export const ServerOptions = z.strictObject({
  ...common,
  heartbeatMs: DurationMs.default(15_000).describe('Time after which a quiet stream sends a sign of life.'),
  stallMs: DurationMs.default(30_000).describe('Time after which a client that does not read is disconnected.'),
  sweepEveryMs: DurationMs.nullable()
    .default(3_600_000)
    .describe('Time between two runs of the maintenance sweep; `null` for never.'),
  root: z
    .string()
    .optional()
    .describe('Folder that context may be gathered from, in the project the store was opened for.'),
  trace: z.custom<Logger>().optional().describe('Logger of pino for diagnostics.'),
})
export type ServerOptions = z.input<typeof ServerOptions>
