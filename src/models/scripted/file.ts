/**
 * Reads a script from a file: `.json` holds one answer or a list, `.jsonl` one answer per line, any other file one text.
 *
 * An answer is a string or a {@link ScriptedTurn}.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ModelUnknown } from '../../errors.ts'
import type { Model } from '../model.ts'
import { scriptedModel } from './scripted.ts'
import { ScriptedTurn } from './turn.ts'

const Answer = z.union([z.string(), ScriptedTurn])

/** @throws {ModelUnknown} when the file or an answer in it cannot be read */
export function scriptedFile(path: string): Model {
  const name = `scripted:${path}`
  const text = contentOf(path, name)
  if (path.endsWith('.jsonl')) {
    const lines = text.split('\n').map((line, index) => ({ line: line.trim(), place: `line ${index + 1}` }))
    const answers = lines.filter(({ line }) => line !== '').map(({ line, place }) => answerIn(json(line, place), place))
    return scriptedModel(answers, name)
  }
  if (!path.endsWith('.json')) return scriptedModel(text, name)
  const value = json(text, 'the file')
  return scriptedModel(
    Array.isArray(value)
      ? value.map((answer, index) => answerIn(answer, `answer ${index + 1}`))
      : answerIn(value, 'the answer'),
    name,
  )

  function json(source: string, place: string): unknown {
    try {
      return JSON.parse(source)
    } catch (error) {
      throw new ModelUnknown(name, `${place} is not JSON (${(error as Error).message}).`)
    }
  }

  function answerIn(value: unknown, place: string): z.infer<typeof Answer> {
    const parsed = Answer.safeParse(value)
    if (parsed.success) return parsed.data
    const [issue] = (typeof value === 'object' ? ScriptedTurn : z.string()).safeParse(value).error?.issues ?? []
    const where = issue && issue.path.length > 0 ? `${place}, ${issue.path.join('.')}` : place
    throw new ModelUnknown(name, `${where}: ${issue?.message ?? 'neither a text nor an answer'}.`)
  }
}

function contentOf(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ModelUnknown(name, `its script cannot be read (${(error as Error).message}).`)
  }
}
