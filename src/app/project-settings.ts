/**
 * What holds in one project of a store: what was said for all of them, and over it what was said for this one. A project
 * has a folder of its own or none: nobody who may write in one project reads the files of another through it.
 */

import { type BuildSettings, type BuildSettingsInput, completeBuildSettings } from '../agents/build-settings.ts'
import { type AgentSettings, type AgentSettingsInput, completeAgentSettings } from '../agents/runs/agent-settings.ts'
import { completeSettings, type Settings, type SettingsInput } from '../conversation/access/settings.ts'
import { type ReferenceSettings, referenceSettings } from '../conversation/references/reference-settings.ts'
import { defaultRequestSettings, type RequestSettings } from '../conversation/sessions/request-settings.ts'
import { completeTeamSettings, type TeamSettings, type TeamSettingsInput } from '../conversation/turns/team-settings.ts'
import { InvalidInput } from '../errors.ts'
import { parseInput } from '../log/commands/input.ts'
import { withoutUndefined } from '../log/commands/omit-undefined.ts'
import { KeepingInput, RequestsInput } from './configuration/configuration.ts'

/** What can be switched off in a project. Everything is on unless somebody says otherwise. */
export interface ProjectFeatures {
  /** Agents can be run. */
  agents: boolean
  /** Agents are sent what was said before. Off: each message starts anew, and the log keeps it all the same. */
  conversations: boolean
}

export const defaultFeatures: ProjectFeatures = { agents: true, conversations: true }

/** Settings that may differ between projects. */
export interface ProjectOptions
  extends Omit<SettingsInput, 'sweepEveryMs'>,
    Pick<TeamSettingsInput, 'phases' | 'turns'> {
  /** Its folder, which agents' files are in. Default: for the project that is opened the project root, for others none. */
  root?: string
  /** Takes API keys and tokens of known shapes out of messages before they are stored; the event says so. */
  redact?: boolean
  /** How requests are put together: budget, strategy, when to compact. */
  requests?: Partial<RequestSettings>
  /** How references in messages are looked up, or 'off'. */
  references?: Partial<ReferenceSettings> | 'off'
  /** How agents are run: on which models, with which tools and commands. */
  agents?: AgentSettingsInput
  /** How teams build: checks, limits of their loops, who gives leave. */
  work?: BuildSettingsInput
  /** What is switched off. */
  features?: Partial<ProjectFeatures>
}

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
  /** The project that is opened, and those that something was said for. */
  readonly named: ReadonlyMap<string, ProjectSettings>
  /** Of all the others. */
  readonly others: ProjectSettings
}

/** @throws {InvalidInput} naming a setting that cannot be, of whichever project */
export function allProjectSettings(given: {
  /** The project that is opened, and its folder unless one is said: looked for when somebody needs it. */
  project: string
  root: () => string
  general: ProjectOptions & TeamSettingsInput
  projects: Readonly<Record<string, ProjectOptions>>
}): AllProjectSettings {
  const { project: opened, general, projects } = given
  const { root: _, ...forAll } = general
  const named = new Map<string, ProjectSettings>()
  for (const [project, own] of Object.entries({ [opened]: {}, ...projects })) {
    const isOpened = project === opened
    const options = overriding(isOpened ? general : forAll, own)
    named.set(project, completeProjectSettings(options, isOpened ? given.root : undefined))
  }
  let others: ProjectSettings | undefined
  return {
    of(project) {
      return named.get(project) ?? this.others
    },
    named,
    // One for all: anybody who may write in any project can name new ones. What it says the opened one says too, and
    // was checked there; most who open a store need no other.
    get others() {
      others ??= completeProjectSettings(forAll)
      return others
    },
  }
}

/**
 * `findRoot` finds its folder where none is said.
 *
 * @throws {InvalidInput} naming the setting
 */
export function completeProjectSettings(
  options: ProjectOptions & TeamSettingsInput,
  findRoot?: () => string,
): ProjectSettings {
  const features = { ...defaultFeatures, ...withoutUndefined(options.features ?? {}) }
  const agents = completeAgentSettings(options.agents)
  return {
    get root() {
      return options.root ?? findRoot?.()
    },
    settings: completeSettings(settingsIn(options)),
    team: completeTeamSettings(options),
    redact: options.redact ?? false,
    requests: requestSettings(options.requests),
    references: referenceSettings(options.references),
    agents: { ...agents, singleShot: agents.singleShot || !features.conversations },
    building: completeBuildSettings(options.work),
    features,
  }
}

/** What is said for one project wins key by key; within groups, too. */
function overriding(general: ProjectOptions, own: ProjectOptions): ProjectOptions {
  const both: ProjectOptions = { ...general, ...withoutUndefined(own) }
  for (const group of ['requests', 'sharing', 'archive', 'turns', 'features'] as const) {
    if (general[group] && own[group])
      Object.assign(both, { [group]: { ...general[group], ...withoutUndefined(own[group]) } })
  }
  if (general.agents && own.agents) {
    const limits = { ...general.agents.limits, ...own.agents.limits }
    both.agents = { ...general.agents, ...withoutUndefined(own.agents), limits }
  }
  if (general.work && own.work) {
    const limits = { ...general.work.limits, ...own.work.limits }
    both.work = { ...general.work, ...withoutUndefined(own.work), limits }
  }
  return both
}

/** @throws {InvalidInput} naming the setting */
function requestSettings(input: ProjectOptions['requests']): RequestSettings {
  if (input === undefined) return defaultRequestSettings
  const settings = {
    ...defaultRequestSettings,
    ...(parseInput(RequestsInput, withoutUndefined(input)) as Partial<RequestSettings>),
  }
  // Otherwise the first compaction would be followed by the next one at once.
  if (settings.target >= settings.trigger) throw new InvalidInput('target', 'must be smaller than trigger')
  return settings
}

/** @throws {InvalidInput} naming the setting */
function settingsIn(options: SettingsInput): SettingsInput {
  const { sessionExpiresInMs, maxMessageBytes, sharing, sweepEveryMs, archive } = options
  const given = withoutUndefined({
    sessionExpiresInMs,
    maxMessageBytes,
    sharing,
    sweepEveryMs,
    archive,
  }) as SettingsInput
  // Never is never wrong for these two, and asking the schema takes as long as reading a session.
  const isNever = ([name, value]: [string, unknown]) =>
    value === null && (name === 'sessionExpiresInMs' || name === 'sweepEveryMs')
  if (!Object.entries(given).every(isNever)) parseInput(KeepingInput, given)
  return given
}
