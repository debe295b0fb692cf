/** Planning tools: the task graph of the feature that a conversation is about. */
import { z } from 'zod'
import { shorten, tool } from './tool.ts'
import type { PlannedGraph } from './tool-port.ts'

const id = z.string().min(1).max(200)

const feature = id.optional().describe('only where this conversation is not about a feature')

export const planTasksTool = tool({
  name: 'plan_tasks',
  description:
    'Adds, changes and removes tasks of the feature in one step; if anything is invalid, nothing changes. A task with an existing id is changed, and omitted fields keep their values. Returns the resulting task graph.',
  input: z.strictObject({
    tasks: z
      .array(
        z.strictObject({
          id: id.describe('short and descriptive, such as login-form; used in depends_on'),
          title: z.string().min(1).max(300).optional().describe('required for a new task'),
          description: z
            .string()
            .max(50_000)
            .optional()
            .describe('everything a developer needs who has read nothing else'),
          depends_on: z
            .array(id)
            .max(200)
            .optional()
            .describe('ids of tasks whose results it needs; replaces the old list'),
          priority: z.int().min(0).max(9).optional().describe('0 goes first; 2 is normal'),
          agent: id.optional().describe('the agent that does it; default dev'),
        }),
      )
      .max(500)
      .optional(),
    remove: z.array(id).max(500).optional().describe('ids of tasks that have not been started'),
    reason: z.string().max(5_000).optional().describe('why the plan changes'),
    feature,
  }),
  async run({ tasks = [], remove, reason, feature }, { port, limits }) {
    const graph = await port.planTasks({
      tasks: tasks.map(({ id: taskId, depends_on: dependencies, ...task }) => ({
        taskId,
        ...task,
        ...(dependencies && { dependencies }),
      })),
      ...(remove && { remove }),
      ...(reason !== undefined && { reason }),
      ...(feature !== undefined && { feature }),
    })
    return shorten(`Planned.\n${graphText(graph)}`, limits.characters)
  },
})

export const showGraphTool = tool({
  name: 'show_graph',
  description: 'Returns the tasks of the feature: their states, dependencies, and which are ready to start.',
  input: z.strictObject({ feature }),
  run: async ({ feature }, { port, limits }) => shorten(graphText(await port.graph(feature)), limits.characters),
})

function graphText({ featureId, name, summary, tasks }: PlannedGraph): string {
  const lines = tasks.map(({ taskId, title, state, dependencies, isReady, reason }) =>
    [
      `- ${taskId} [${state}${isReady ? ', ready' : ''}] ${title}`,
      dependencies.length > 0 && ` (depends on ${dependencies.join(', ')})`,
      reason && `: ${reason}`,
    ]
      .filter(Boolean)
      .join(''),
  )
  return [`Feature ${featureId}: ${name}`, summary, ...lines].join('\n')
}
