/** Starts the demo, in a project of its own where the token allows one. */
import type { Client } from 'colloquy/client'
import { whoAmI } from '../../connection/client.tsx'
import { address } from '../../router/address.ts'

/** A separate project, because what the demo writes cannot be taken out again. */
const ownProject = 'till'

/** @returns the address where it can be watched */
export async function startDemo(client: Client, project: string): Promise<string> {
  const { projects } = await whoAmI()
  const place = projects === 'all' || projects.includes(ownProject) ? ownProject : project
  const { featureId } = await client.demo.start({ project: place })
  return address([place, 'work'], { feature: featureId })
}
