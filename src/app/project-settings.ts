/**
 * Settings of each project of a store: the general options, and over them those of the project. A project that is not
 * opened has no folder unless it is set, so that its writers cannot read the files of another project.
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
  /** The opened project, and those with options of their own. */
  readonly named: ReadonlyMap<string, ProjectSettings>
}

/** @throws {InvalidInput} naming the setting, of whichever project */
export function allProjectSettings({
  project: opened,
  input,
  options,
  root,
}: {
  project: string
  /** The options as the caller gave them: options of a project go over these, before defaults are applied. */
  input: OpenOptions
  options: CheckedOptions
  /** Finds the folder of the opened project, unless one is set; called when it is first needed. */
  root: () => string
}): AllProjectSettings {
  const others = settingsOf({ ...options, root: undefined })
  const named = new Map([[opened, settingsOf(options, root)]])
  for (const [project, own] of Object.entries(input.projects ?? {})) {
    const isOpened = project === opened
    const general = isOpened ? input : { ...input, root: undefined }
    const checked = parseInput(OpenOptions, overlay<OpenOptions>(ProjectOptions, general, own))
    named.set(project, settingsOf(checked, isOpened ? root : undefined))
  }
  return { of: project => named.get(project) ?? others, named }
}

/** @throws {InvalidInput} naming the setting */
export function projectSettings(options: ProjectOptions): ProjectSettings {
  return settingsOf(parseInput(OpenOptions, parseInput(ProjectOptions, options)))
}

function settingsOf(options: CheckedOptions, findRoot?: () => string): ProjectSettings {
  const { requests, references, agents, features, redact, phases, turns, executionLeaseMs } = options
  const { sessionExpiresInMs, maxMessageBytes, sharing, sweepEveryMs, archive } = options
  // Otherwise the first compaction would be followed by the next one at once.
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
