/**
 * Settings of each project of a store: the general options, overlaid with those of the project. Only the opened project
 * has a default folder, so that writers of another project cannot read its files.
 */
import type { BuildSettings } from '../agents/build-settings.ts'
import type { AgentSettings } from '../agents/runs/agent-settings.ts'
import type { Settings } from '../conversation/access/settings.ts'
import type { ReferenceSettings } from '../conversation/references/reference-settings.ts'
import type { TeamSettings } from '../conversation/turns/team-settings.ts'
import { InvalidInput } from '../errors.ts'
import { parseInput } from '../log/commands/input.ts'
import { phaseSetOf } from '../log/commands/phase-set.ts'
import type { RequestSettings } from '../request/assembly/settings.ts'
import { type CheckedOptions, OpenOptions, type ProjectFeatures, ProjectOptions } from './configuration/options.ts'
import { overlay } from './configuration/overlay.ts'

export interface ProjectSettings {
  readonly root: string | undefined
  settings: Settings
  team: TeamSettings
  redact: boolean
  requests: RequestSettings
  references: ReferenceSettings | undefined
  agents: AgentSettings
  building: BuildSettings
  features: ProjectFeatures
}

export interface AllProjectSettings {
  of(project: string): ProjectSettings
  /** The opened project, and projects with their own options. */
  readonly named: ReadonlyMap<string, ProjectSettings>
}

/** @throws {InvalidInput} naming the project and the setting */
export function allProjectSettings({
  project: opened,
  input,
  options,
  root,
}: {
  project: string
  /** The options before defaults are applied, because those of a project are overlaid on them. */
  input: OpenOptions
  options: CheckedOptions
  /** Finds the folder of the opened project. */
  root: () => string
}): AllProjectSettings {
  const defaults = settingsOf({ ...options, root: undefined })
  const named = new Map([[opened, settingsOf(options, root)]])
  for (const [project, overrides] of Object.entries(input.projects ?? {})) {
    const isOpened = project === opened
    const general = isOpened ? input : { ...input, root: undefined }
    const checked = parseInput(OpenOptions, overlay<OpenOptions>(ProjectOptions, general, overrides))
    named.set(project, settingsOf(checked, isOpened ? root : undefined))
  }
  return { of: project => named.get(project) ?? defaults, named }
}

/** @throws {InvalidInput} naming the setting */
export function projectSettings(options: ProjectOptions): ProjectSettings {
  return settingsOf(parseInput(OpenOptions, parseInput(ProjectOptions, options)))
}

function settingsOf(options: CheckedOptions, findRoot?: () => string): ProjectSettings {
  const { requests, references, agents, features, redact, phases, turns, executionLeaseMs } = options
  const { sessionExpiresInMs, maxMessageBytes, sharing, sweepEveryMs, archive } = options
  // Otherwise each compaction would trigger the next one at once.
  if (requests.target >= requests.trigger) throw new InvalidInput('requests.target', 'must be smaller than trigger')
  return {
    get root() {
      return options.root ?? findRoot?.()
    },
    settings: { sessionExpiresInMs, maxMessageBytes, sharing, sweepEveryMs, archive },
    team: { phases: phaseSetOf(phases), turns, executionLeaseMs },
    redact,
    requests,
    references: references === 'off' ? undefined : references,
    agents: { ...agents, singleShot: agents.singleShot || !features.conversations },
    building: options.work,
    features,
  }
}
