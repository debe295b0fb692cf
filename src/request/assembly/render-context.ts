/**
 * A context as text, in two halves: what seldom changes stands before the history, what changes often stands after
 * it, so that a provider's prompt cache keeps hitting. The same context gives the same bytes; empty parts are left out.
 *
 * Files, titles, states and commits are written by others. Whatever has lines stands in a fence, whatever is a name is
 * one line, so none of it can pass for a heading of the request. What matters most comes first: when it has to be
 * trimmed, its end goes.
 */
import type { SessionContext, TaskSummary } from '../../log/events/context.ts'
import { fence, oneLine } from '../text/quote-untrusted.ts'

/** Renders the task and the feature, instruction files, and the project. */
export function renderStableContext(context: SessionContext): string {
  const { project, feature, task } = context
  return blocks([
    task && `# Task ${name(task.id)}: ${name(task.title)}`,
    quoted('Description', task?.description),
    feature && `# Feature ${name(feature.id)}: ${name(feature.name)}`,
    quoted('Goal', feature?.goal),
    quoted('Specification', feature?.spec),
    ...(project.instructionFiles ?? []).map(file => quoted(name(file.name), file.text)),
    project.root && `# Project\nRoot: ${name(project.root)}`,
    quoted('Directory structure', project.structure),
  ])
}

/** States, dependencies, the task list, the task graph and the newest commits. */
export function renderVolatileContext(context: SessionContext): string {
  const { project, feature, task, dagSummary } = context
  return blocks([
    task?.state && `Task ${name(task.id)} is in state ${name(task.state)}.`,
    section('## This task depends on', list(task?.dependencies)),
    section('## These depend on this task', list(task?.dependents)),
    section('## Tasks of the feature', list(feature?.tasks)),
    section('## Task graph', dagSummary && `- ${oneLine(dagSummary, 2_000)}`),
    section('## Recent commits', project.recentCommits?.map(commit => `- ${name(commit)}`).join('\n')),
  ])
}

function list(tasks: readonly TaskSummary[] | undefined): string | undefined {
  return tasks
    ?.map(({ id, title, state }) => `- ${name(id)}: ${name(title)}${state ? ` (${name(state)})` : ''}`)
    .join('\n')
}

const longestName = 300

function name(text: string): string {
  return oneLine(text, longestName)
}

function quoted(heading: string, body: string | undefined): string | undefined {
  const text = body?.trim()
  return text ? `## ${heading}\n${fence(text, `context ${heading}`, heading)}` : undefined
}

function section(heading: string, body: string | undefined): string | undefined {
  return body ? `${heading}\n${body}` : undefined
}

function blocks(parts: readonly (string | undefined)[]): string {
  return parts.filter(Boolean).join('\n\n')
}
