/** The long texts of work items, which stand in the log and not in heads. */
import type { FeatureWork } from '../../log/views/work/work.ts'
import type { WorkAccess, WorkHead } from './work-access.ts'

/** The goal and the specification of a feature. */
export async function textsOf(
  access: WorkAccess,
  head: WorkHead<FeatureWork>,
): Promise<{ goal?: string; spec?: string }> {
  const { goalAt, specAt } = head.info.work
  const first = await access.factAt(head, goalAt, 'feature.described')
  const second = specAt === goalAt ? first : await access.factAt(head, specAt, 'feature.described')
  return { ...(first?.goal && { goal: first.goal }), ...(second?.spec && { spec: second.spec }) }
}

/** The description of a task in its feature's plan. */
export async function descriptionOf(
  access: WorkAccess,
  head: WorkHead<FeatureWork>,
  taskId: string,
): Promise<string | undefined> {
  const { describedAt } = head.info.work.tasks.find(task => task.taskId === taskId) ?? {}
  const plan = await access.factAt(head, describedAt, 'tasks.planned')
  return [...(plan?.added ?? []), ...(plan?.changed ?? [])].find(task => task.taskId === taskId)?.description
}
