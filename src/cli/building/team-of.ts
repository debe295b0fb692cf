/** Finds the feature or task that a command names. */
import { NotFound } from '../../errors.ts'
import type { Colloquy } from '../../index.ts'

export async function featuresOf({ work }: Colloquy): Promise<string[]> {
  const featureIds: string[] = []
  let cursor: string | undefined
  do {
    const page = await work.listFeatures({ limit: 200, ...(cursor !== undefined && { cursor }) })
    featureIds.push(...page.items.map(feature => feature.featureId))
    cursor = page.next
  } while (cursor !== undefined)
  return featureIds
}

/** The named feature, or the only one there is. @throws {NotFound} */
export async function featureOf(colloquy: Colloquy, id: string | undefined): Promise<string> {
  if (id !== undefined) return (await colloquy.work.getFeature(id)).featureId
  const featureIds = await featuresOf(colloquy)
  if (featureIds.length === 1) return featureIds[0]!
  const hint =
    featureIds.length === 0 ? "'colloquy feature add NAME' adds one." : `Name one of: ${featureIds.join(', ')}.`
  throw new NotFound('feature', '', hint)
}

/** @throws {NotFound} when no feature has it, or several do */
export async function taskOf(
  colloquy: Colloquy,
  taskId: string,
  feature: string | undefined,
): Promise<{ featureId: string; taskId: string }> {
  if (feature !== undefined) {
    const { featureId } = await colloquy.work.getTask(feature, taskId)
    return { featureId, taskId }
  }
  const having: string[] = []
  for (const featureId of await featuresOf(colloquy)) {
    const tasks = await colloquy.work.listTasks(featureId)
    if (tasks.some(task => task.taskId === taskId)) having.push(featureId)
  }
  if (having.length === 1) return { featureId: having[0]!, taskId }
  const hint = having.length === 0 ? '' : `Several features have it; add --feature: ${having.join(', ')}.`
  throw new NotFound('task', taskId, hint)
}
