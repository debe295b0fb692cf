/** The parts of a server that its handlers share. */
import type { Colloquy } from '../index.ts'
import type { Streams } from './live/streams.ts'
import type { Jobs } from './operation/jobs.ts'
import type { Metrics } from './operation/metrics.ts'
import type { NodeRegister } from './operation/nodes.ts'
import type { ServerSettings } from './settings.ts'

export interface ServerParts {
  /** As it was opened, in the project of requests that name none. */
  colloquy: Colloquy
  settings: ServerSettings
  streams: Streams
  jobs: Jobs
  metrics: Metrics
  nodes: NodeRegister
}
