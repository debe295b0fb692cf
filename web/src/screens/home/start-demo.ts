/** The demo, started from the page: a team at work, in a project of its own where the token allows one. */
import type { Client } from 'colloquy/client'
import { whoAmI } from '../../connection/client.tsx'
import { address } from '../../router/address.ts'

/** Nothing that it writes can be taken out of a project again. */
const ownProject = 'till'

/** @returns where it can be watched */
export async function startDemo(client: Client, project: string): Promise<string> {
  const { projects } = await whoAmI()
  const place = projects === 'all' || projects.includes(ownProject) ? ownProject : project
  const { featureId } = await client.demo.start({ project: place })
  return address([place, 'work'], { feature: featureId })
}
