/** The whole contract: every endpoint that is served. */
import { building } from './building.ts'
import { conversations } from './conversations.ts'
import { demo } from './demo.ts'
import { dispatch } from './dispatch.ts'
import type { Endpoint } from './endpoint.ts'
import { loom } from './loom.ts'
import { operations } from './operations.ts'
import { past } from './past.ts'
import { projects } from './projects.ts'
import { runs } from './runs.ts'
import { sessions } from './sessions.ts'
import { teams } from './teams.ts'
import { work } from './work.ts'

export const contract = {
  projects,
  conversations,
  past,
  sessions,
  teams,
  runs,
  work,
  building,
  dispatch,
  demo,
  loom,
  operations,
}
export type Contract = typeof contract

export interface NamedEndpoint {
  resource: keyof Contract
  name: string
  endpoint: Endpoint
}

export const endpoints: readonly NamedEndpoint[] = Object.entries(contract).flatMap(([resource, group]) =>
  Object.entries(group).map(([name, endpoint]) => ({
    resource: resource as keyof Contract,
    name,
    endpoint: endpoint as Endpoint,
  })),
)
