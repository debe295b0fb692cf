/** All benchmarks, in the order of the report. */
import { append } from './append.ts'
import { calibration } from './calibration.ts'
import { disk } from './disk.ts'
import { loops } from './loops.ts'
import { open } from './open.ts'
import { postgres } from './postgres.ts'
import { processes } from './processes.ts'
import { read } from './read.ts'
import { requests } from './requests.ts'
import { retention } from './retention.ts'
import { search } from './search.ts'
import { server } from './server.ts'
import type { Benchmark } from './support/benchmark.ts'
import { teams } from './teams.ts'
import { turns } from './turns.ts'
import { web } from './web.ts'
import { writers } from './writers.ts'

export const benchmarks: readonly Benchmark[] = [
  append,
  writers,
  processes,
  read,
  open,
  disk,
  search,
  requests,
  turns,
  calibration,
  retention,
  loops,
  postgres,
  teams,
  server,
  web,
]
