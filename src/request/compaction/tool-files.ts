/**
 * Which files a tool call reads or changes, told by the names that coding agents commonly give their tools and arguments.
 *
 * Commands of a shell are not taken apart: what they touch cannot be known from their text.
 */
import type { ToolCallPart } from '../../log/events/part.ts'

interface TouchedFiles {
  read: string[]
  changed: string[]
}

const readers = new Set(
  'read readfile readfiles readmanyfiles cat view viewfile openfile open getfile getfilecontents readtextfile fsread notebookread readmultiplefiles'.split(
    ' ',
  ),
)
const changers = new Set(
  'write writefile edit editfile multiedit applypatch applydiff patch strreplace strreplaceeditor strreplacebasededittool searchreplace replace replaceinfile create createfile insert notebookedit update updatefile delete deletefile removefile fswrite savefile writetofile appendfile'.split(
    ' ',
  ),
)
/** One tool with several commands: what it does is in its arguments. */
const readingCommands = new Set(['view', 'read', 'open'])

const pathKeys = [
  'path',
  'file_path',
  'filePath',
  'filepath',
  'file',
  'filename',
  'file_name',
  'fileName',
  'notebook_path',
  'target_file',
  'absolute_path',
  'paths',
  'files',
  'file_paths',
  'edits',
]

/** Longer ones are content that found its way into the wrong argument. */
const longestPath = 400

export function filesIn({ name, input }: Pick<ToolCallPart, 'name' | 'input'>): TouchedFiles {
  const tool = plainName(name)
  if (!readers.has(tool) && !changers.has(tool)) return { read: [], changed: [] }
  const given = argumentsOf(input)
  const files = tool === 'applypatch' || tool === 'patch' ? [...patchedFiles(given), ...pathsIn(given)] : pathsIn(given)
  const command = isRecord(given) && typeof given.command === 'string' ? given.command : undefined
  const reads = readers.has(tool) || (command !== undefined && readingCommands.has(command))
  return reads ? { read: files, changed: [] } : { read: [], changed: files }
}

/** `mcp__files__read_file`, `functions.ReadFile` and `read-file` are one tool. */
function plainName(name: string): string {
  const last = name.split(/__|[.:/]/).at(-1) ?? ''
  return last.toLowerCase().replace(/[^a-z]/g, '')
}

/** Some providers hand the arguments over as JSON text. */
function argumentsOf(input: unknown): unknown {
  if (typeof input !== 'string' || !input.trimStart().startsWith('{')) return input
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}

function pathsIn(given: unknown): string[] {
  if (!isRecord(given)) return []
  const found: string[] = []
  for (const key of pathKeys) {
    for (const value of [given[key]].flat()) {
      if (typeof value === 'string') found.push(value)
      // `files: [{ path }]`, one level and no deeper.
      else if (isRecord(value))
        for (const inner of pathKeys) if (typeof value[inner] === 'string') found.push(value[inner])
    }
  }
  return [...new Set(found)].filter(isPath)
}

const patchedFile = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.{1,400})$/gm

function patchedFiles(given: unknown): string[] {
  const texts = typeof given === 'string' ? [given] : isRecord(given) ? Object.values(given) : []
  const found = texts.flatMap(text =>
    typeof text === 'string' ? [...text.matchAll(patchedFile)].map(([, file]) => file!.trim()) : [],
  )
  return [...new Set(found)].filter(isPath)
}

function isPath(text: string): boolean {
  return text.trim() !== '' && text.length <= longestPath && !text.includes('\n')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
