/** Validates what a configuration file or a variable of the environment says. */
import type { z } from 'zod'
import { ConfigurationInvalid } from '../../errors.ts'
import { inputProblem } from '../../log/commands/input.ts'
import { fromLoom, LoomSettings } from './loom-settings.ts'
import { Configuration } from './options.ts'

const ConfigurationFile = Configuration.extend({ conversation: LoomSettings.optional() })

/** Finds the line of a setting, where it comes from a file. */
type LineOf = (path: readonly string[]) => number | undefined

/**
 * Returns the settings as they are written: their defaults are applied when a store is opened.
 *
 * @throws {ConfigurationInvalid} naming the field and its line, and for an unknown key the nearest known one
 */
export function checkConfiguration(value: unknown, from: string, lineOf: LineOf = () => undefined): Configuration {
  const input = value ?? {}
  const result = ConfigurationFile.safeParse(input)
  if (!result.success) {
    const { path, reason, nearest } = inputProblem(ConfigurationFile, input, result.error.issues[0]!)
    const line = lineOf(path)
    throw new ConfigurationInvalid({
      from,
      ...(line !== undefined && { line }),
      field: path.join('.') || 'the whole file',
      reason,
      ...(nearest !== undefined && { nearest }),
    })
  }
  const { conversation: _, ...settings } = input as z.input<typeof ConfigurationFile>
  const { conversation } = result.data
  return conversation ? withLoom(settings, conversation, from, lineOf) : settings
}

/** One setting under two names would leave open which holds, so that is an error. */
function withLoom(
  settings: Configuration,
  conversation: z.output<typeof LoomSettings>,
  from: string,
  lineOf: LineOf,
): Configuration {
  const { requests, ...others } = fromLoom(conversation)
  const duplicate = [
    ...Object.keys(others).filter(key => key in settings),
    ...Object.keys(requests).flatMap(key => (settings.requests && key in settings.requests ? [`requests.${key}`] : [])),
  ][0]
  if (duplicate !== undefined) {
    const line = lineOf(['conversation'])
    throw new ConfigurationInvalid({
      from,
      ...(line !== undefined && { line }),
      field: 'conversation',
      reason: `it sets ${duplicate}, which is set by its own name, too; keep one of them`,
    })
  }
  const merged = { ...settings.requests, ...requests }
  return { ...settings, ...others, ...(Object.keys(merged).length > 0 && { requests: merged }) }
}
