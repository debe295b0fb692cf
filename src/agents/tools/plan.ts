/** Planning tools: the task graph of the feature that a conversation is about. */
import { z } from 'zod'
import type { DeskGraph } from './desk.ts'
import { shortened, tool } from './tool.ts'

const id = z.string().min(1).max(200)

const feature = id.optional().describe('only where this conversation is not about a feature itself')

export const planTasksTool = tool({
  name: 'plan_tasks',
  description:
    'Adds, changes and removes tasks of the feature, all of it in one step or, if something is wrong, nothing. A task whose id is known is changed: what you leave out of it stays. Gives the task graph as it is then.',
  input: z.strictObject({
    tasks: z
      .array(
        z.strictObject({
          id: id.describe('short and telling, such as login-form; others name it in depends_on'),
          title: z.string().min(1).max(300).optional().describe('needed for a new task'),
          description: z
            .string()
            .max(50_000)
            .optional()
            .describe('all that a developer who has read nothing else needs'),
          depends_on: z.array(id).max(200).optional().describe('ids of tasks whose result it needs; replaces the old'),
          priority: z.int().min(0).max(9).optional().describe('0 goes first; 2 is usual'),
          agent: id.optional().describe('who is to do it, where not dev'),
        }),
      )
      .max(500)
      .optional(),
    remove: z.array(id).max(500).optional().describe('ids of tasks nobody has begun'),
    reason: z.string().max(5_000).optional().describe('why the plan changes'),
    feature,
  }),
  async run({ tasks = [], remove, reason, feature }, { desk, limits }) {
    const graph = await desk.planTasks({
      tasks: tasks.map(({ id: taskId, depends_on: dependencies, ...task }) => ({
        taskId,
        ...task,
        ...(dependencies && { dependencies }),
      })),
      ...(remove && { remove }),
      ...(reason !== undefined && { reason }),
      ...(feature !== undefined && { feature }),
    })
    return shortened(`Planned.\n${graphText(graph)}`, limits.characters)
  },
})

export const showGraphTool = tool({
  name: 'show_graph',
  description: 'Shows the tasks of the feature: their states, what each depends on, and which may begin.',
  input: z.strictObject({ feature }),
  run: async ({ feature }, { desk, limits }) => shortened(graphText(await desk.graph(feature)), limits.characters),
})

function graphText({ featureId, name, summary, tasks }: DeskGraph): string {
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
