/**
 * A context as text, in two halves: what seldom changes stands before the history, what changes often stands after
 * it, so that a provider's prompt cache keeps hitting. The same context gives the same bytes; empty parts are left out.
 */
import type { SessionContext, TaskSummary } from '../events/context.ts'

/** Project, instruction files, and what the feature and the task are. */
export function renderStableContext(context: SessionContext): string {
  const { project, feature, task } = context
  return blocks([
    section('# Project', project.root && `Root: ${project.root}`),
    section('## Directory structure', project.structure),
    ...(project.instructionFiles ?? []).map(file => section(`## ${file.name}`, file.text)),
    feature && `# Feature ${feature.id}: ${feature.name}`,
    section('## Goal', feature?.goal),
    section('## Specification', feature?.spec),
    task && `# Task ${task.id}: ${task.title}`,
    section('## Description', task?.description),
  ])
}

/** States, dependencies, the task list, the task graph and the newest commits. */
export function renderVolatileContext(context: SessionContext): string {
  const { project, feature, task, dagSummary } = context
  return blocks([
    task?.state && `Task ${task.id} is in state ${task.state}.`,
    section('## This task depends on', list(task?.dependencies)),
    section('## These depend on this task', list(task?.dependents)),
    section('## Tasks of the feature', list(feature?.tasks)),
    section('## Task graph', dagSummary),
    section('## Recent commits', project.recentCommits?.map(commit => `- ${commit}`).join('\n')),
  ])
}

function list(tasks: readonly TaskSummary[] | undefined): string | undefined {
  return tasks?.map(({ id, title, state }) => `- ${id}: ${title}${state ? ` (${state})` : ''}`).join('\n')
}

function section(heading: string, body: string | undefined): string | undefined {
  const text = body?.trim()
  return text ? `${heading}\n${text}` : undefined
}

function blocks(parts: readonly (string | undefined)[]): string {
  return parts.filter(Boolean).join('\n\n')
}
