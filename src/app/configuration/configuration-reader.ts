/** Reads a project's configuration: its file, and over it the environment. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { ConfigurationInvalid } from '../../errors.ts'
import { isAddress } from './archive-places.ts'
import { checkConfiguration } from './configuration.ts'
import { Configuration, ProjectOptions } from './options.ts'
import { overlay, withoutOverridden } from './overlay.ts'
import { projectRoot } from './project-root.ts'

/** In the project root, so that it is committed with the project; `.colloquy/` holds its data. JSON is YAML, too. */
export const configurationFiles = ['colloquy.config.yaml', 'colloquy.yaml', 'colloquy.config.json'] as const

export interface ReadConfiguration {
  /** The file; default: the one in the project root, if there is one. */
  file?: string
  /** Default: the environment of this process. */
  env?: Readonly<Record<string, string | undefined>>
}

/**
 * Returns settings for `openColloquy`. Relative paths in a file are relative to it.
 *
 * @throws {ConfigurationInvalid} when it cannot be read, or has an unknown or invalid setting
 */
export async function readConfiguration(options: ReadConfiguration = {}): Promise<Configuration> {
  let configuration: Configuration = {}
  for (const { settings } of await configurationSources(options)) configuration = merged(configuration, settings)
  return configuration
}

/** Settings, and where they were read: a file, or a variable of the environment. */
export interface ConfigurationSource {
  from: string
  settings: Configuration
}

/** Returns the sources of `readConfiguration` one by one, the weakest first: the file, then the environment. */
export async function configurationSources({
  file,
  env = process.env,
}: ReadConfiguration = {}): Promise<ConfigurationSource[]> {
  const configuredFile = file ?? env.COLLOQUY_CONFIG
  const path = configuredFile === undefined ? inProjectRoot() : resolve(configuredFile)
  const fromFile = path === undefined ? [] : [{ from: path, settings: await readFrom(path) }]
  return [...fromFile, ...environmentSources(env)]
}

function merged(file: Configuration, environment: Configuration): Configuration {
  return {
    ...overlay(Configuration, file, environment),
    ...(file.projects && { projects: projectsUnder(file.projects, environment) }),
  }
}

/** Removes from the projects of a file what `over` sets: that holds in all projects. */
export function projectsUnder(projects: NonNullable<Configuration['projects']>, over: object) {
  return Object.fromEntries(
    Object.entries(projects).map(([project, options]) => [project, withoutOverridden(ProjectOptions, options, over)]),
  )
}

function inProjectRoot(): string | undefined {
  const root = projectRoot()
  const [file, secondFile] = configurationFiles.map(name => join(root, name)).filter(path => existsSync(path))
  if (file !== undefined && secondFile !== undefined) {
    throw new ConfigurationInvalid({
      from: root,
      field: 'file',
      reason: `there are both ${file} and ${secondFile}; keep one`,
    })
  }
  return file
}

async function readFrom(file: string): Promise<Configuration> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ConfigurationInvalid({ from: file, field: 'file', reason: `it cannot be read (${error.message})` })
  })
  // Loaded only where there is a file to read.
  const { isNode, LineCounter, parseDocument } = await import('yaml')
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const [error] = document.errors
  if (error) {
    const [reason] = error.message.split('\n')
    throw new ConfigurationInvalid({ from: file, field: 'file', reason: `it is not YAML: ${reason}` })
  }
  /** Finds the line of a setting, or of the nearest group around it that is in the file. */
  const lineOf = (path: readonly string[]): number | undefined => {
    for (let depth = path.length; depth > 0; depth--) {
      const node = document.getIn(path.slice(0, depth), true)
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
    }
    return undefined
  }
  return withAbsolutePaths(checkConfiguration(document.toJS(), file, lineOf), dirname(file))
}

function withAbsolutePaths(configuration: Configuration, folder: string): Configuration {
  const { store, archives, server, root, projects } = configuration
  const path = store?.startsWith('sqlite:') ? store.slice('sqlite:'.length) : undefined
  return {
    ...configuration,
    ...(path && path !== ':memory:' && !isAbsolute(path) && { store: `sqlite:${join(folder, path)}` }),
    ...(archives && !isAddress(archives) && { archives: resolve(folder, archives) }),
    ...(root !== undefined && { root: resolve(folder, root) }),
    ...(projects && { projects: absoluteProjects(projects, folder) }),
    ...(server?.tokenFile !== undefined && { server: { ...server, tokenFile: resolve(folder, server.tokenFile) } }),
  }
}

function absoluteProjects(projects: NonNullable<Configuration['projects']>, folder: string) {
  const entries = Object.entries(projects).map(([project, { root, ...options }]) => [
    project,
    { ...options, ...(root !== undefined && { root: resolve(folder, root) }) },
  ])
  return Object.fromEntries(entries) as typeof projects
}

/** Variables of the environment that are settings. */
const variables: Readonly<Record<string, (text: string) => unknown>> = {
  COLLOQUY_STORE: store => ({ store }),
  COLLOQUY_PROJECT: project => ({ project }),
  COLLOQUY_MODEL: model => ({ requests: { model } }),
  COLLOQUY_BUDGET: text => ({ requests: { budget: Number(text) } }),
  COLLOQUY_STRATEGY: strategy => ({ requests: { strategy } }),
  COLLOQUY_HOST: host => ({ server: { host } }),
  COLLOQUY_PORT: text => ({ server: { port: Number(text) } }),
  COLLOQUY_TOKEN_FILE: tokenFile => ({ server: { tokenFile } }),
}

function environmentSources(env: NonNullable<ReadConfiguration['env']>): ConfigurationSource[] {
  return Object.entries(variables).flatMap(([name, settingsOf]) => {
    const text = env[name]
    if (text === undefined || text === '') return []
    return [{ from: name, settings: checkConfiguration(settingsOf(text), name) }]
  })
}
