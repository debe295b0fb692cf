/** Reads a project's configuration: its file, and over it the environment. Nothing is read unless somebody asks. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { ConfigurationInvalid } from '../errors.ts'
import { type Configuration, checkConfiguration } from './configuration.ts'
import { projectRoot } from './project-root.ts'

/** In the project root, so that it is committed with the project; `.colloquy/` holds its data. JSON is YAML, too. */
export const configurationFiles = ['colloquy.config.yaml', 'colloquy.config.json'] as const

export interface ReadConfiguration {
  /** The file; default: the one in the project root, if there is one. */
  file?: string
  /** Default: the environment of this process. */
  env?: Readonly<Record<string, string | undefined>>
}

/**
 * Settings for `openColloquy`. Relative paths in a file are relative to it.
 *
 * @throws {ConfigurationInvalid} when it cannot be read, or says something nobody knows
 */
export async function readConfiguration({ file, env = process.env }: ReadConfiguration = {}): Promise<Configuration> {
  const named = file ?? env.COLLOQUY_CONFIG
  const place = named === undefined ? inProjectRoot() : resolve(named)
  const fromFile = place === undefined ? {} : await readFrom(place)
  const fromEnvironment = environmentConfiguration(env)
  const requests = { ...fromFile.requests, ...fromEnvironment.requests }
  return { ...fromFile, ...fromEnvironment, ...(Object.keys(requests).length > 0 && { requests }) }
}

function inProjectRoot(): string | undefined {
  const root = projectRoot()
  const [first, second] = configurationFiles.map(name => join(root, name)).filter(path => existsSync(path))
  if (first !== undefined && second !== undefined) {
    throw new ConfigurationInvalid({
      from: root,
      field: 'file',
      reason: `there are both ${first} and ${second}; keep one`,
    })
  }
  return first
}

async function readFrom(file: string): Promise<Configuration> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ConfigurationInvalid({ from: file, field: 'file', reason: `it cannot be read (${error.message})` })
  })
  // Loaded only where there is a file to read.
  const { parse } = await import('yaml')
  let value: unknown
  try {
    value = parse(text)
  } catch (error) {
    const [reason] = (error as Error).message.split('\n')
    throw new ConfigurationInvalid({ from: file, field: 'file', reason: `it is not YAML: ${reason}` })
  }
  return placed(checkConfiguration(value, file), dirname(file))
}

function placed(configuration: Configuration, folder: string): Configuration {
  const { store, archives } = configuration
  const path = store?.startsWith('sqlite:') ? store.slice('sqlite:'.length) : undefined
  return {
    ...configuration,
    ...(path && path !== ':memory:' && !isAbsolute(path) && { store: `sqlite:${join(folder, path)}` }),
    ...(archives && !archives.startsWith('s3:') && { archives: resolve(folder, archives) }),
  }
}

/** Of the environment these are settings; other names are not ours to judge. */
const variables: Readonly<Record<string, (text: string) => unknown>> = {
  COLLOQUY_STORE: store => ({ store }),
  COLLOQUY_PROJECT: project => ({ project }),
  COLLOQUY_MODEL: model => ({ requests: { model } }),
  COLLOQUY_BUDGET: text => ({ requests: { budget: Number(text) } }),
  COLLOQUY_STRATEGY: strategy => ({ requests: { strategy } }),
}

function environmentConfiguration(env: NonNullable<ReadConfiguration['env']>): Configuration {
  let configuration: Configuration = {}
  for (const [name, settingsOf] of Object.entries(variables)) {
    const text = env[name]
    if (text === undefined || text === '') continue
    const { requests, ...rest } = checkConfiguration(settingsOf(text), name)
    configuration = { ...configuration, ...rest, requests: { ...configuration.requests, ...requests } }
  }
  return configuration
}
